"""Dovetail's schedulers in other simulators.

=========================== ==========================================================================
``dovetail.adapters.ns``    ``Server`` in the place of a server of ns.py, such as its ``DRRServer``
``dovetail.adapters.simpy`` ``Queue`` in the place of a ``simpy.Store``
=========================== ==========================================================================
"""
