"""The JSON of the API as pydantic models, one noun a file: requests are validated by them, responses are made of them,
and `openapi.json` is generated from them.

The message of an error continues a sentence that begins with the name of the field, unless its type is "sentence".
"""
