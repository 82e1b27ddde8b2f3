#! /usr/bin/env python3

# A list of C++ examples to run in order to ensure that they remain
# buildable and runnable over time.  Each tuple in the list contains
#
#     (example_name, do_run, do_valgrind_run).
#
# See test.py for more information.
cpp_examples = [
    ("dovetail-simple --seconds=3", "True", "False"),
    ("dovetail-open-loop --packets=500", "True", "False"),
    ("dovetail-many-flows --flows=20 --rate=10Mbps --seconds=3", "True", "False"),
    ("dovetail-transfers --transfers=100", "True", "False"),
    ("dovetail-cpu --policy=atfq --pipeline=buffer=4 --seconds=0.2", "True", "False"),
]

# A list of Python examples to run in order to ensure that they remain
# runnable over time.  Each tuple in the list contains
#
#     (example_name, do_run).
#
# See test.py for more information.
python_examples = []
