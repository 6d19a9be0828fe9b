// The schemas of admin-openapi.yaml that the console imports, by openapi-typescript. Update this file with: npm run generate

export type ActiveTenant = {
    tenant: string;
    reads: number;
    writes: number;
    rejected: number;
};
export type Activity = {
    since: Time;
    until: Time;
    bucket_seconds: number;
    actors: Actor[];
    buckets: {
        start: Time;
        counts: number[];
        others: number;
    }[];
};
export type Actor = {
    type: "api_key";
    id: string;
    label: string;
    source?: string;
} | {
    type: "admin_key";
    id: string;
    label: string;
    source?: string;
} | {
    type: "user";
    id: string;
    label: string;
} | {
    type: "jwt";
    subject: string | null;
} | {
    type: "operator";
    name: string;
} | {
    type: "session";
    id: string;
} | {
    type: "system";
    job: string;
} | {
    type: "anonymous";
};
export type AdjacentChanges = {
    at: Time;
    previous: Time | null;
    next: Time | null;
};
export type AuditEvent = {
    id: string;
    at: Time;
    actor: Actor;
    action: string;
    channel: "admin_api" | "console" | "command_line" | "memory_stores_api" | "sharing_api";
    address: string;
    request_id: string | null;
    dry_run: boolean;
    tenant: string | null;
    key: string | null;
    details: {
        [key: string]: unknown;
    };
    outcome: string | null;
};
export type Caller = {
    tenant: string | null;
    actor: Actor | null;
    reads: number;
    writes: number;
};
export type CommandLatency = {
    command: string;
    calls: number;
    p50_ms: number;
    p95_ms: number;
};
export type Conflict = {
    path: string | null;
    memory_id: string | null;
    reason: "content" | "path" | "deleted_in_reverted" | "deleted_in_current" | "occupied" | "pruned" | "redacted" | "resolved";
    changed_by: Actor | null;
    changed_at: Time | null;
    at: string | null;
    resolution: ("reverted" | "current" | "text") | null;
    choices: ("reverted" | "current" | "text")[];
    message: string;
};
export type Difference = {
    old_path: string | null;
    path: string | null;
    old_version: string | null;
    version: string | null;
    patch: string | null;
    no_patch_reason: string | null;
};
export type DirectoryPage = {
    path: string;
    at: Time | null;
    entries: Entry[];
    next: string | null;
};
export type DirectorySizes = {
    path: string;
    at: Time | null;
    files: number;
    size_bytes: number;
    directories: {
        path: string;
        files: number;
        size_bytes: number;
    }[];
    next: string | null;
    redacted: number | null;
};
export type Draft = {
    id: string;
    tenant: string;
    title: string;
    author: Actor;
    key_id: string | null;
    via_tenant: string | null;
    state: "open" | "merged" | "replaced" | "rejected" | "expired";
    base_at: Time;
    created_at: Time;
    closed_at: Time | null;
    closed_by: Actor | null;
    merged_at: Time | null;
    files: number | null;
    bytes: number | null;
    changed_files: number | null;
    changed_in_both: number | null;
    comments: number;
    open_comments: number;
    review_request: {
        reviewer: string;
        by: Actor;
        at: Time;
    } | null;
    last_change_at: Time | null;
    last_used_at: Time | null;
    expires_at: Time | null;
};
export type DraftChange = {
    memory_id: string;
    path: string;
    changed_in: "draft" | "original" | "both";
    in_draft: ("added" | "changed" | "moved" | "deleted") | null;
    in_original: ("added" | "changed" | "moved" | "deleted") | null;
    content_changed: boolean;
    conflict: ("content" | "path" | "deleted_in_draft" | "deleted_in_original" | "occupied") | null;
    blocked_by: {
        path: string;
        file_count: number;
        files: string[];
    } | null;
    base: {
        path: string;
        version: string;
    } | null;
    draft: {
        path: string;
        version: string;
        size_bytes: number;
    } | null;
    original: {
        path: string;
        version: string;
        size_bytes: number;
    } | null;
};
export type DraftComment = {
    id: string;
    author: Actor;
    created_at: Time;
    memory_id: string | null;
    line: number | null;
    reviewer: string | null;
    text: string;
    resolved: {
        by: Actor;
        at: Time;
    } | null;
};
export type DraftResolutionInput = {
    memory_id: string;
    take: "draft" | "original";
} | {
    memory_id: string;
    text: string;
};
export type EffectiveSettings = {
    max_file_bytes: number;
    max_bytes: number;
    max_files: number;
    max_view_chars: number;
    rate_per_minute: number;
    max_body_bytes: number;
    ttl_days: number;
    history_days: number;
    max_history_bytes: number;
    max_drafts: number;
    max_draft_bytes: number;
    draft_days: number;
    read_log_days: number;
    read_log: "daily" | "each";
    provenance: "never" | "on_request" | "always";
    secrets: "store" | "mask" | "reject";
    create_existing: "error" | "overwrite";
    max_context_chars: number;
    pinned_paths: string;
};
export type Entry = {
    path: string;
    kind: "file" | "directory";
    size_bytes: number | null;
    modified_at: Time;
    version: string | null;
    memory_id: string | null;
};
export type FileChange = {
    change: "added" | "modified" | "deleted" | "renamed";
    path: string;
    from: string | null;
    memory_id: string;
    content_changed: boolean;
    old_version: string | null;
    version: string | null;
    merged: boolean;
};
export type FleetDay = {
    day: string;
    tenants: number | null;
    suspended: number | null;
    files: number | null;
    bytes: number | null;
    history_bytes: number | null;
    active: number;
    reads: number;
    writes: number;
    rejected: number;
};
export type FleetTotals = {
    tenants: number;
    suspended: number;
    near_limit: number;
    files: number;
    bytes: number;
    history_bytes: number;
    history_versions: number;
};
export type FoundActor = {
    actor: Actor;
    hits: number;
    files: number;
    tenants: number;
    since: Time;
};
export type GivenShare = {
    id: string;
    tenant: string | null;
    access: "read_only" | "propose" | "read_write";
    prefix?: string;
    invitation: string;
    created_at: Time;
};
export type HealthFinding = {
    kind: "unread" | "stale" | "duplicate" | "similar" | "large" | "secret" | "broken_link" | "crowded";
    title: string;
    total: number;
    items: {
        path: string;
        detail: string;
    }[];
    command: string | null;
};
export type Hit = {
    draft: string | null;
    memory_id: string;
    version_id: string;
    place: "current" | "superseded";
    in: "content" | "path";
    path: string | null;
    operation: ("created" | "modified" | "renamed" | "deleted") | null;
    line: number | null;
    lines: number;
    excerpt: string | null;
    actor: Actor | null;
    at: Time | null;
    redacted: boolean;
};
export type Imported = {
    dry_run: boolean;
    files: number;
    bytes: number;
    directories: string[];
    versions: number | null;
    history_left_out: string | null;
    masked: {
        name: string;
        kinds: string[];
    }[];
    left_out: string[];
    file_paths: string[] | null;
    changed_at: Time | null;
};
export type Instructions = {
    content: string;
    mounts: {
        path: string;
        access: "read_only" | "propose" | "read_write";
        prefix?: string;
        instructions: string;
    }[];
};
export type Invitation = {
    id: string;
    access: "read_only" | "propose" | "read_write";
    prefix?: string;
    reusable: boolean;
    accepted: number;
    key: string | null;
    created_at: Time;
    expires_at: Time;
};
export type Job = {
    id: string;
    kind: "find" | "revert" | "erase";
    state: "queued" | "running" | "done" | "cancelled";
    request: {
        [key: string]: unknown;
    };
    selection: {
        search?: string;
        status?: "active" | "suspended" | "archived";
        metadata?: {
            [key: string]: string;
        };
        except?: string[];
        found_by?: string;
        found_by_state?: "done" | "inexact" | "cancelled";
    };
    only_tenants: string[] | null;
    created_by: Actor;
    created_at: Time;
    ended_at: Time | null;
    tenants: number;
    tenants_done: number;
    tenants_failed: number;
    counts: {
        [key: string]: number;
    };
    progress: {
        [key: string]: number;
    } | null;
    is_exact: boolean;
};
export type JobOutcome = {
    tenant: string;
    at: Time;
    error: string | null;
    counts: {
        [key: string]: number;
    };
    is_exact: boolean;
};
export type KeptOut = {
    id: string;
    tokens: number;
    label: string;
    created_at: Time;
    created_by: Actor;
};
export type Key = {
    id: string;
    kind: "tenant" | "service" | "admin";
    tenant: string | null;
    access: "read_write" | "propose" | "operate" | "read_only";
    tenants: string[] | null;
    manages_stores: boolean;
    rights: Right[];
    can_share: boolean;
    label: string;
    source: string;
    created_at: Time;
    expires_at: Time | null;
    revoked_at: Time | null;
    last_used_at: Time | null;
    previous_expires_at: Time | null;
};
export type KeyWithPrevious = {
    id: string;
    kind: "tenant" | "service" | "admin";
    tenant: string | null;
    access: "read_write" | "propose" | "operate" | "read_only";
    tenants: string[] | null;
    manages_stores: boolean;
    rights: Right[];
    can_share: boolean;
    label: string;
    source: string;
    created_at: Time;
    expires_at: Time | null;
    revoked_at: Time | null;
    last_used_at: Time | null;
    previous_expires_at: Time | null;
    previous: {
        expires_at: Time;
        last_used_at: Time | null;
    } | null;
};
export type MemoryHealth = {
    tenant: string;
    files: number;
    examined: number;
    findings: HealthFinding[];
};
export type MergedDraft = {
    draft: Draft;
    merged_at: Time | null;
    files: {
        memory_id: string;
        change: "added" | "changed" | "moved" | "deleted";
        path: string;
        from: string | null;
    }[];
    directories_made: string[];
    directories_removed: string[];
};
export type Mount = {
    name: string;
    tenant: string | null;
    access: "read_only" | "propose" | "read_write";
    prefix?: string;
    instructions: string;
};
export type Mounts = {
    mounts: {
        name: string;
        tenant: string | null;
        access: "read_only" | "propose" | "read_write";
        prefix?: string;
        instructions: string;
        status: ("ok" | "suspended" | "missing" | "name_taken") | null;
    }[];
    mounted_by: {
        tenant: string;
        name: string;
        access: "read_only" | "propose" | "read_write";
    }[];
    more: boolean;
};
export type OwnSettings = {
    max_file_bytes: number | null;
    max_bytes: number | null;
    max_files: number | null;
    max_view_chars: number | null;
    rate_per_minute: number | null;
    max_body_bytes: number | null;
    ttl_days: number | null;
    history_days: number | null;
    max_history_bytes: number | null;
    max_drafts: number | null;
    max_draft_bytes: number | null;
    draft_days: number | null;
    read_log_days: number | null;
    read_log: ("daily" | "each") | null;
    provenance: ("never" | "on_request" | "always") | null;
    secrets: ("store" | "mask" | "reject") | null;
    create_existing: ("error" | "overwrite") | null;
    max_context_chars: number | null;
    pinned_paths: string | null;
};
export type ReadSummary = {
    days: number;
    count: number;
    actors: number;
    last_at: Time | null;
};
export type ReceivedShare = {
    id: string;
    tenant: string | null;
    path: string;
    access: "read_only" | "propose" | "read_write";
    prefix?: string;
    status: ("ok" | "suspended" | "missing" | "name_taken") | null;
    created_at: Time;
};
export type RejectedCalls = {
    tenant: string | null;
    actor: Actor | null;
    reason: string;
    count: number;
};
export type Replica = {
    id: string;
    version: string;
    started_at: Time;
    seen_at: Time;
};
export type Restored = {
    dry_run: boolean;
    files: FileChange[];
    directories_made: string[];
    directories_removed: string[];
    summary: string;
    plan: string;
    changed_at: Time | null;
    kept_out: string[];
};
export type RevertResolutionInput = {
    memory_id: string;
    take: "reverted" | "current";
} | {
    memory_id: string;
    text: string;
};
export type Reverted = {
    conflicts: Conflict[];
    drafts: string[];
    dry_run: boolean;
    files: FileChange[];
    directories_made: string[];
    directories_removed: string[];
    summary: string;
    plan: string;
    changed_at: Time | null;
    kept_out: string[];
};
export type Right = {
    path: string;
    access: "none" | "read_only" | "propose" | "read_write";
};
export type SearchMatch = {
    path: string;
    line: number | null;
    text: string | null;
    score: number | null;
};
export type Session = {
    actor: Actor;
    access: "read_write" | "propose" | "operate" | "read_only";
    tenants: string[] | null;
    read_only: boolean;
    service_url: string | null;
    service_port: number;
    sharing: boolean;
    version: string;
    now: Time;
};
export type SignedReceipt = {
    receipt: {
        format: "memory-service-receipt/1";
        id: string;
        kind: "tenant_deleted" | "version_redacted" | "directories_redacted" | "text_erased";
        at: string;
        by: {
            [key: string]: string | null;
        };
        tenant: string | null;
        readonly searched: string[];
        subject: {
            [key: string]: string;
        };
        erased: {
            [key: string]: number;
        };
        remaining: {
            place: string;
            until: string | null;
        }[];
    };
    signature: string;
    key_id: string;
    proof?: {
        tenant: string;
        salt: string;
    };
};
export type Tenant = {
    id: string;
    name: string;
    description: string;
    metadata: {
        [key: string]: string;
    };
    draft_of: string | null;
    status: "active" | "suspended" | "archived";
    created_at: Time;
    suspended_at: Time | null;
    archived_at: Time | null;
    last_change_at: Time | null;
    files: number;
    bytes: number;
    history_versions: number;
    history_bytes: number;
    history_since: Time;
    used_percent: number | null;
    mounts: Mount[];
    settings: OwnSettings;
    effective: EffectiveSettings;
};
export type TenantSelectionInput = {
    ids?: string[];
    search?: string;
    status?: "active" | "suspended" | "archived";
    metadata?: {
        [key: string]: string;
    };
    except?: string[];
    found_by?: string;
};
export type TenantTotals = {
    tenants: number;
    files: number;
    bytes: number;
    history_bytes: number;
};
export type Time = string;
export type Usage = {
    id: string;
    files: Used;
    bytes: Used;
    history_bytes: Used;
    history_versions: number;
    stored_results: number;
    last_activity_at: Time | null;
};
export type UsageDay = {
    day: string;
    files: number;
    bytes: number;
    history_bytes: number;
    reads: number;
    writes: number;
    rejected: number;
};
export type Used = {
    used: number;
    limit: number | null;
};
export type Version = {
    id: string;
    memory_id: string;
    operation: "created" | "modified" | "renamed" | "deleted";
    path: string | null;
    content_sha256: string | null;
    content_size_bytes: number | null;
    created_at: Time;
    actor: Actor;
    request_id: string | null;
    tool_use_id: string | null;
    via_tenant: string | null;
    source: string | null;
    draft: string | null;
    approved_by: Actor | null;
    redacted_at: Time | null;
    redacted_by: Actor | null;
    previous_version: string | null;
    previous_path: string | null;
};
export type VersionWithContent = {
    id: string;
    memory_id: string;
    operation: "created" | "modified" | "renamed" | "deleted";
    path: string | null;
    content_sha256: string | null;
    content_size_bytes: number | null;
    created_at: Time;
    actor: Actor;
    request_id: string | null;
    tool_use_id: string | null;
    via_tenant: string | null;
    source: string | null;
    draft: string | null;
    approved_by: Actor | null;
    redacted_at: Time | null;
    redacted_by: Actor | null;
    previous_version: string | null;
    previous_path: string | null;
    content: string | null;
};
export type Webhook = {
    id: string;
    tenant: string | null;
    url: string;
    types: ("created" | "modified" | "renamed" | "deleted" | "restored" | "redacted" | "tenant_created" | "tenant_suspended" | "tenant_resumed" | "tenant_deleted" | "tenant_renamed" | "limit_near" | "draft_opened" | "draft_merged" | "draft_rejected" | "share_created" | "share_ended" | "key_created" | "key_revoked" | "job_ended")[] | null;
    path: unknown | null;
    content: boolean;
    enabled: boolean;
    disabled_reason: ("by_operator" | "failing" | "gone") | null;
    failing_since: Time | null;
    next_attempt_at: Time | null;
    gap_at: Time | null;
    previous_secret_until: Time | null;
    created_at: Time;
};
export type WebhookDelivery = {
    at: Time;
    message_id: string;
    type: string;
    tenant: string | null;
    status: number | null;
    error: ("address_not_allowed" | "connection_failed" | "name_not_resolved" | "redirected" | "rejected" | "timeout" | "tls_failed") | null;
    duration_ms: number;
};
export type WebhookTest = {
    status: number | null;
    error: ("address_not_allowed" | "connection_failed" | "name_not_resolved" | "redirected" | "rejected" | "timeout" | "tls_failed") | null;
    duration_ms: number;
};
