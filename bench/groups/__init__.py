"""Groups of figures. Each module measures one group: measure(bench) returns tables (measure.py)."""
