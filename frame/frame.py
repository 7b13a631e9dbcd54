class Frame:
    def __init__(self): pass
    def __getattr__(self, n): return lambda *a: print(n, a, flush=True)
