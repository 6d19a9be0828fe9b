"""Advice on the options of a client, using the names of the options."""

from __future__ import annotations

from collections.abc import Mapping


def advice(code: str, detail: str, headers: Mapping[str, str], url: str) -> str | None:
    """Returns advice on the options of a client. The service itself names the headers of the options."""
    names_tenant = "X-Tenant-Id" in headers
    match code:
        case "unauthorized" | "authentication_error" if "Authorization" in headers:
            return "api_key is not a valid key or token of this service."
        case "unauthorized" | "authentication_error":
            return "The service needs a key. Set api_key."
        case "tenant_required":
            return "The key is valid for many tenants. Set tenant."
        case "tenant_mismatch":
            return "The key is not valid for this tenant. Omit tenant, or use a key of that tenant."
        case "is_admin_key":
            return "api_key is an admin key, which is for the admin API only. Use a tenant key or a service key."
        case "unknown_tenant" if names_tenant:
            return f"{detail} Check tenant."
        case "tenant_suspended" if names_tenant:
            return f"{detail} Check tenant, or have an operator resume it."
        case "route_not_found" if url.endswith(("/context", "/v1/changes")):
            return f"The service has no {url.rpartition('/')[2]}. Update it, or check url."
        case "route_not_found":
            return f"{url} does not exist. Check url."
    return None


def foreign_response(status: int, url: str) -> str:
    """Describes a response that does not come from the service, such as the response of a proxy.

    The body may contain anything, so it is never shown.
    """
    if 300 <= status < 400:
        return f"{url} redirects. Set url to where it redirects to."
    return (
        f"{url} responded with {status}, but not like a memory service. "
        "Check url, and any proxy in front of the service."
    )
