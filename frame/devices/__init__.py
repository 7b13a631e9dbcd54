"""Who computes on what device.

spread.py     rank -> device: evenly over the devices of a node, near its cores
rule.py       GPU or CPU by a table of measured times (rule.csv) and a short formula
placement.py  GPU or CPU by measuring here and now
mps.py        ranks that share a device through CUDA's multi-process service
"""
