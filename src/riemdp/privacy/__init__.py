"""The audited core: nothing outside this folder turns a private value into a release."""
