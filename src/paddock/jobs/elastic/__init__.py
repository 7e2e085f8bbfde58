"""Gangs whose size may change: which size an attempt has, and when it takes another. PURE."""
