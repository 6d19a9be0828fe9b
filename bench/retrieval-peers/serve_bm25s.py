"""Serves bm25s with its defaults. Reads JSON values from standard input, one per line, and writes one
line for each. An array of texts opens an index. {"query", "limit"} returns positions in that array."""

import json
import sys

import bm25s

retriever, size = None, 0
for line in sys.stdin:
    request = json.loads(line)
    if isinstance(request, list):
        retriever, size = bm25s.BM25(), len(request)
        retriever.index(bm25s.tokenize(request, show_progress=False), show_progress=False)
        response = []
    else:
        query = bm25s.tokenize([request["query"]], show_progress=False)
        found, scores = retriever.retrieve(query, k=min(request["limit"], size), show_progress=False)
        response = [int(place) for place, score in zip(found[0], scores[0]) if score > 0]
    print(json.dumps(response), flush=True)
