;; The program 'seal': appends the frame's CRC-32, in the byte order of Ethernet's check sequence.
;;
;; The table of 256 words is computed once, when the box asks for the buffer. Each byte takes one lookup, so the time grows
;; with the frame's length. A frame that may not grow by four bytes passes untouched.
(module
  ;;    1,024   table
  ;;    4,096   frame, up to the end of the memory
  (memory (export "memory") 2)

  (func (export "dv_abi") (result i32)
    (i32.const 1))

  (func (export "dv_buffer") (param $capacity i32) (result i32)
    (local $byte i32) (local $crc i32) (local $bit i32)
    (if (i32.gt_u (local.get $capacity) (i32.const 126976)) (then (return (i32.const 0))))
    (loop $bytes
      (local.set $crc (local.get $byte))
      (local.set $bit (i32.const 8))
      (loop $bits
        (local.set $crc
          (i32.xor
            (i32.shr_u (local.get $crc) (i32.const 1))
            (i32.and
              (i32.const 0xedb88320)
              (i32.sub (i32.const 0) (i32.and (local.get $crc) (i32.const 1))))))
        (local.set $bit (i32.sub (local.get $bit) (i32.const 1)))
        (br_if $bits (local.get $bit)))
      (i32.store offset=1024 (i32.shl (local.get $byte) (i32.const 2)) (local.get $crc))
      (local.set $byte (i32.add (local.get $byte) (i32.const 1)))
      (br_if $bytes (i32.lt_u (local.get $byte) (i32.const 256))))
    (i32.const 4096))

  (func (export "dv_process") (param $frame i32) (param $length i32) (param $most i32) (result i64)
    (local $at i32) (local $end i32) (local $crc i32)
    (if (i32.gt_u (i32.add (local.get $length) (i32.const 4)) (local.get $most)) (then (return (i64.const 0))))
    (local.set $at (local.get $frame))
    (local.set $end (i32.add (local.get $frame) (local.get $length)))
    (local.set $crc (i32.const -1))
    (loop $bytes
      (local.set $crc
        (i32.xor
          (i32.load offset=1024
            (i32.shl
              (i32.and (i32.xor (local.get $crc) (i32.load8_u (local.get $at))) (i32.const 255))
              (i32.const 2)))
          (i32.shr_u (local.get $crc) (i32.const 8))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $bytes (i32.lt_u (local.get $at) (local.get $end))))
    (i32.store (local.get $end) (i32.xor (local.get $crc) (i32.const -1)))
    (i64.or
      (i64.const 0x0100000000000000)
      (i64.or
        (i64.shl (i64.extend_i32_u (local.get $frame)) (i64.const 24))
        (i64.extend_i32_u (i32.add (local.get $length) (i32.const 4)))))))
