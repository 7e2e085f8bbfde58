"""One module for each screen, beside its template; `registry` lists them."""
