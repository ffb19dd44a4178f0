"""The service: models behind HTTP (``hld serve``), with bounded work, durable monitors and a page in the browser."""
