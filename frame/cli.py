"""python -m frame build"""
def main():
    import sys
    from . import build
    build.MODULE_SOURCE.write_text(build.fortran_module())
    build.build()
    return 0
