"""Names of functions and variables, and types of parameters, in C++: from the mangled names that PTX has."""
