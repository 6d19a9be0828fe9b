// The schemas of admin-openapi.yaml that the console imports, by openapi-typescript. Update this file with: npm run generate

export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        ActiveTenant: {
            tenant: string;
            /** @description Calls that read or searched. */
            reads: number;
            /** @description Calls that write, including those with invalid input. */
            writes: number;
            /** @description Requests that were rejected with 403, 409, or 429, and writes that were rejected because the memory is full, archived, or read-only. */
            rejected: number;
        };
        Activity: {
            since: components["schemas"]["Time"];
            until: components["schemas"]["Time"];
            bucket_seconds: number;
            /** @description At most 20, the busiest first. */
            actors: components["schemas"]["Actor"][];
            buckets: {
                start: components["schemas"]["Time"];
                /** @description Changes by each actor in `actors`. */
                counts: number[];
                /** @description Changes by all other actors. */
                others: number;
            }[];
        };
        /** @description The actor that made a change. */
        Actor: {
            type: "api_key";
            id: string;
            label: string;
            /** @description The source of the key's writes, as declared by its operator. */
            source?: string;
        } | {
            type: "admin_key";
            id: string;
            label: string;
            /** @description The source of the key's writes, as declared by its operator. */
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
        AdjacentChanges: {
            at: components["schemas"]["Time"];
            /** @description A time of the change before; null if there was none. */
            previous: components["schemas"]["Time"] | null;
            /** @description The time of the first change after `at`; null when there is none. */
            next: components["schemas"]["Time"] | null;
        };
        AuditEvent: {
            /** Format: uuid */
            id: string;
            at: components["schemas"]["Time"];
            actor: components["schemas"]["Actor"];
            /** @description The operation, by its name in this document. */
            action: string;
            channel: "admin_api" | "console" | "command_line" | "memory_stores_api" | "sharing_api";
            /** @description The caller's IP address, or the host that ran the command. */
            address: string;
            /** @description Identifies the request in the log. */
            request_id: string | null;
            dry_run: boolean;
            tenant: string | null;
            /** @description The created or changed key's ID. */
            key: string | null;
            /** @description The changes: `{ "old", "new" }` for each field that had a value before. Never contents, paths, or secrets. */
            details: {
                [key: string]: unknown;
            };
            /** @description `ok`, or the error code. Null while the change runs, or if the service ended during it. */
            outcome: string | null;
        };
        /** @description Calls by an actor in a tenant. */
        Caller: {
            /** @description Null if the caller is for no tenant, or is unknown. */
            tenant: string | null;
            /** @description Null if the credential was not accepted. */
            actor: components["schemas"]["Actor"] | null;
            reads: number;
            writes: number;
        };
        /** @description Percentiles, accurate to 10 %; 0 without calls. */
        CommandLatency: {
            command: string;
            calls: number;
            p50_ms: number;
            p95_ms: number;
        };
        Conflict: {
            path: string | null;
            /** @description Null for a directory. */
            memory_id: string | null;
            /** @description Others changed the same lines, moved the file as well, changed a file that the revert deletes, or deleted the file. Or the path is occupied, or a version that the revert needs was pruned or redacted. `resolved`: the file has a resolution without a conflict. */
            reason: "content" | "path" | "deleted_in_reverted" | "deleted_in_current" | "occupied" | "pruned" | "redacted" | "resolved";
            changed_by: components["schemas"]["Actor"] | null;
            changed_at: components["schemas"]["Time"] | null;
            /** @description The occupied path. */
            at: string | null;
            /** @description The applied resolution. Null if the file is left unchanged because it has no resolution. */
            resolution: ("reverted" | "current" | "text") | null;
            /** @description The resolutions that the file can have. */
            choices: ("reverted" | "current" | "text")[];
            message: string;
        };
        Difference: {
            old_path: string | null;
            path: string | null;
            old_version: string | null;
            version: string | null;
            /** @description In `git diff` format. Texts that differ too much to compare appear as replaced: all old lines removed, all new lines added. */
            patch: string | null;
            /** @description The reason for a missing patch: a version was redacted, pruned, or is too large to compare. */
            no_patch_reason: string | null;
        };
        DirectoryPage: {
            path: string;
            at: components["schemas"]["Time"] | null;
            entries: components["schemas"]["Entry"][];
            /** @description Pass it as `after`, with the same other parameters, to get the next page; null on the last page. */
            next: string | null;
        };
        DirectorySizes: {
            path: string;
            at: components["schemas"]["Time"] | null;
            /** @description Files in this part, including those directly in the directory. */
            files: number;
            size_bytes: number;
            /** @description For this part, one item for each directory that contains files. */
            directories: {
                path: string;
                files: number;
                size_bytes: number;
            }[];
            /** @description Pass it as `after`, with the same other parameters, to get the next page; null on the last page. */
            next: string | null;
            /** @description The number of files that are omitted because they have been redacted since. Only with the first part for the whole memory at a past time. */
            redacted: number | null;
        };
        Draft: {
            id: string;
            tenant: string;
            title: string;
            /** @description The actor that created the draft. */
            author: components["schemas"]["Actor"];
            /** @description The key whose writes go into this draft; null if there is none. */
            key_id: string | null;
            /** @description The tenant through whose mount the writes come; null for other drafts, and outside an admin key's scope. */
            via_tenant: string | null;
            state: "open" | "merged" | "replaced" | "rejected" | "expired";
            /** @description It started from the memory at this time. */
            base_at: components["schemas"]["Time"];
            created_at: components["schemas"]["Time"];
            closed_at: components["schemas"]["Time"] | null;
            closed_by: components["schemas"]["Actor"] | null;
            /** @description The time of all versions that the merge created. With this time as `since` and `until`, and the draft's ID as `by`, a revert undoes the merge alone. */
            merged_at: components["schemas"]["Time"] | null;
            /** @description Number of files in the draft; null once the draft is closed. */
            files: number | null;
            bytes: number | null;
            /** @description Number of files that the draft has added, changed, moved, or deleted. */
            changed_files: number | null;
            /** @description Number of files that the draft has changed, moved, or deleted, and the original has since, too: they may be in conflict. Null once the draft is closed, and with more than 1,000 changed files. */
            changed_in_both: number | null;
            /** @description Number of comments. */
            comments: number;
            /** @description Number of comments that are not resolved. */
            open_comments: number;
            /** @description The latest request for a review: an open comment with a `reviewer`. */
            review_request: {
                reviewer: string;
                by: components["schemas"]["Actor"];
                at: components["schemas"]["Time"];
            } | null;
            last_change_at: components["schemas"]["Time"] | null;
            /** @description When it was created, last read or last written. Reads count to the day. */
            last_used_at: components["schemas"]["Time"] | null;
            /** @description It is closed within an hour after this time, unless it is used before. Null if it is closed or never expires. */
            expires_at: components["schemas"]["Time"] | null;
        };
        DraftChange: {
            /**
             * Format: uuid
             * @description Identifies the file in this comparison, and in `resolutions`.
             */
            memory_id: string;
            /** @description Its path in the draft if it exists there, otherwise in the original. */
            path: string;
            changed_in: "draft" | "original" | "both";
            /** @description The draft's change since the base. */
            in_draft: ("added" | "changed" | "moved" | "deleted") | null;
            /** @description The original's change since the base. */
            in_original: ("added" | "changed" | "moved" | "deleted") | null;
            /** @description Whether the draft changed the content, which it may do to a moved file as well. */
            content_changed: boolean;
            /** @description The reason for the conflict: both sides changed the same lines, both moved the file to different paths, one side deleted a file that the other changed, or its path is occupied. */
            conflict: ("content" | "path" | "deleted_in_draft" | "deleted_in_original" | "occupied") | null;
            /** @description Files and directories in the original that occupy or block the file's path. If you resolve the file with `draft`, only these files are replaced by their version in the draft, or deleted. */
            blocked_by: {
                /** @description A file, or a directory with all that is in it. */
                path: string;
                file_count: number;
                /** @description The first 100 files. */
                files: string[];
            } | null;
            /** @description The file that both sides began with; null for one that is new. */
            base: {
                path: string;
                /** Format: uuid */
                version: string;
            } | null;
            /** @description The file on this side; null where it is not there. */
            draft: {
                path: string;
                /** Format: uuid */
                version: string;
                size_bytes: number;
            } | null;
            /** @description The file on this side; null where it is not there. */
            original: {
                path: string;
                /** Format: uuid */
                version: string;
                size_bytes: number;
            } | null;
        };
        DraftComment: {
            /** Format: uuid */
            id: string;
            author: components["schemas"]["Actor"];
            created_at: components["schemas"]["Time"];
            /** @description The file that it is about; null: the whole draft. */
            memory_id: string | null;
            /** @description The line in the draft's file; null: the whole file. */
            line: number | null;
            /** @description The person whose review the comment requests. */
            reviewer: string | null;
            text: string;
            /** @description The actor and time of the resolution; null while the comment is open. */
            resolved: {
                by: components["schemas"]["Actor"];
                at: components["schemas"]["Time"];
            } | null;
        };
        /** @description The resolution for a file: the draft's version, the original's version, or a text. The draft's version also resolves files under `blocked_by` that have no separate resolution. */
        DraftResolutionInput: {
            /** Format: uuid */
            memory_id: string;
            take: "draft" | "original";
        } | {
            /** Format: uuid */
            memory_id: string;
            text: string;
        };
        /** @description Settings in effect for a tenant. */
        EffectiveSettings: {
            /** @description Largest file, in bytes. 0: no limit. */
            max_file_bytes: number;
            /** @description Total file size, in bytes. 0: no limit. */
            max_bytes: number;
            /** @description Number of files. 0: no limit. */
            max_files: number;
            /** @description Longest view result, in characters. 0: no limit. */
            max_view_chars: number;
            /** @description Requests per minute and replica. 0: no limit. */
            rate_per_minute: number;
            /** @description Largest request body, in bytes, within the service's limit. 0: the service's limit. */
            max_body_bytes: number;
            /** @description Days after which unused files are deleted. 0: never. */
            ttl_days: number;
            /** @description Days to keep superseded versions. 0: none. */
            history_days: number;
            /** @description Total history size, in bytes. 0: no limit. */
            max_history_bytes: number;
            /** @description Number of open drafts. 0: no limit. */
            max_drafts: number;
            /** @description Total file size in all open drafts, in bytes. 0: no limit. */
            max_draft_bytes: number;
            /** @description Days after which unused drafts are closed. 0: never. */
            draft_days: number;
            /** @description Days to keep the record of which files were read by whom. 0: off. */
            read_log_days: number;
            /** @description Records in the read trail: one for a day's reads of a file by an actor, or one for each read. */
            read_log: "daily" | "each";
            /** @description Whether views and searches say who wrote each line last, and when. */
            provenance: "never" | "on_request" | "always";
            /** @description Handling of secrets in written text; known examples (AKIAIOSFODNN7EXAMPLE, the password pass) are no secrets. */
            secrets: "store" | "mask" | "reject";
            /** @description Effect of create on an existing file. */
            create_existing: "error" | "overwrite";
            /** @description Longest snapshot in an agent's context, in characters. 0: the maximum. */
            max_context_chars: number;
            /** @description Files and directories whose contents are in an agent's context, besides /memories/pinned. */
            pinned_paths: string;
        };
        Entry: {
            path: string;
            kind: "file" | "directory";
            /** @description Null for a directory. */
            size_bytes: number | null;
            modified_at: components["schemas"]["Time"];
            /** @description Only for a file at a past time; otherwise null. */
            version: string | null;
            /** @description Only for a file at a past time; otherwise null. */
            memory_id: string | null;
        };
        FileChange: {
            change: "added" | "modified" | "deleted" | "renamed";
            path: string;
            /** @description A renamed file's previous path. */
            from: string | null;
            /** Format: uuid */
            memory_id: string;
            content_changed: boolean;
            /** @description The current version; null when the file is added. */
            old_version: string | null;
            /** @description The version that the file returns to; null when it is deleted or merged. */
            version: string | null;
            /** @description Whether the file gets a new text: merged lines, or a resolution's text. */
            merged: boolean;
        };
        /** @description Sizes are recorded once an hour; null where they were not. */
        FleetDay: {
            /** @description By UTC. */
            day: string;
            tenants: number | null;
            suspended: number | null;
            files: number | null;
            bytes: number | null;
            history_bytes: number | null;
            /** @description Tenants that sent a request. */
            active: number;
            /** @description Calls that read or searched. */
            reads: number;
            /** @description Calls that write, including those with invalid input. */
            writes: number;
            /** @description Requests that were rejected with 403, 409, or 429, and writes that were rejected because the memory is full, archived, or read-only. */
            rejected: number;
        };
        FleetTotals: {
            tenants: number;
            suspended: number;
            /** @description Tenants that use at least `near_limit` percent of their limit on files or bytes. */
            near_limit: number;
            files: number;
            bytes: number;
            history_bytes: number;
            history_versions: number;
        };
        FoundActor: {
            actor: components["schemas"]["Actor"];
            /** @description The number of versions by the actor with the text. */
            hits: number;
            /** @description The number of files whose oldest version with the text is by the actor, so that the actor probably wrote the text into them. */
            files: number;
            /** @description The number of tenants with hits by the actor. */
            tenants: number;
            /** @description The time of the actor's oldest version with the text. */
            since: components["schemas"]["Time"];
        };
        /** @description A share of this tenant's memory with another tenant. */
        GivenShare: {
            id: string;
            /** @description Null outside an admin key's scope. */
            tenant: string | null;
            /**
             * @description Applies to every key for the tenant, regardless of its access to other paths.
             * @default read_only
             */
            access: "read_only" | "propose" | "read_write";
            /** @description Path in the mounted memory: only the file, or the directory with everything below it, is shown. By default the whole memory. */
            prefix?: string;
            invitation: string;
            created_at: components["schemas"]["Time"];
        };
        HealthFinding: {
            kind: "unread" | "stale" | "duplicate" | "similar" | "large" | "secret" | "broken_link" | "crowded";
            title: string;
            total: number;
            /** @description The first 100, by path. */
            items: {
                path: string;
                /** @description The other file, the missing path, the kinds of secrets, the last use, or the size, depending on the kind. */
                detail: string;
            }[];
            /** @description A command that helps; null without items. */
            command: string | null;
        };
        Hit: {
            /** @description The draft's ID; null for the memory itself. */
            draft: string | null;
            /** Format: uuid */
            memory_id: string;
            /** Format: uuid */
            version_id: string;
            /** @description The state when the version was found. */
            place: "current" | "superseded";
            in: "content" | "path";
            /** @description Null if the version was redacted or deleted since. */
            path: string | null;
            operation: ("created" | "modified" | "renamed" | "deleted") | null;
            /** @description From 1: the first matching line; null for a path. */
            line: number | null;
            /** @description The number of matching lines. */
            lines: number;
            /** @description The line; if it is long, only a part. */
            excerpt: string | null;
            actor: components["schemas"]["Actor"] | null;
            at: components["schemas"]["Time"] | null;
            redacted: boolean;
        };
        Imported: {
            dry_run: boolean;
            files: number;
            bytes: number;
            /** @description Directories that were created. */
            directories: string[];
            /** @description Versions in the history; null without one. */
            versions: number | null;
            /** @description The reason that the archive's history was left out. */
            history_left_out: string | null;
            /** @description Files in which secrets were masked, with the secrets' kinds. */
            masked: {
                name: string;
                kinds: string[];
            }[];
            /** @description macOS binary files (`._*` and `.DS_Store`) that were left out. */
            left_out: string[];
            /** @description With `dry_run`: the file paths. Otherwise null. */
            file_paths: string[] | null;
            /** @description The time at which the files were created, with which a revert undoes the import; null with `dry_run` or an imported history. */
            changed_at: components["schemas"]["Time"] | null;
        };
        /** @description Instructions for an agent about its memory. */
        Instructions: {
            /** @description For the agent's system prompt. */
            content: string;
            mounts: {
                path: string;
                access: "read_only" | "propose" | "read_write";
                /** @description Path in the mounted memory: only the file, or the directory with everything below it, is shown. By default the whole memory. */
                prefix?: string;
                instructions: string;
            }[];
        };
        /** @description An invitation to mount a tenant's memory, without its token. */
        Invitation: {
            id: string;
            /**
             * @description Applies to every key for the tenant, regardless of its access to other paths.
             * @default read_only
             */
            access: "read_only" | "propose" | "read_write";
            /** @description Path in the mounted memory: only the file, or the directory with everything below it, is shown. By default the whole memory. */
            prefix?: string;
            reusable: boolean;
            /** @description Number of acceptances. */
            accepted: number;
            /** @description Key that created the invitation. When the key is revoked or expires, so is the invitation. Null: an operator or a token. */
            key: string | null;
            created_at: components["schemas"]["Time"];
            expires_at: components["schemas"]["Time"];
        };
        Job: {
            /** Format: uuid */
            id: string;
            kind: "find" | "revert" | "erase";
            state: "queued" | "running" | "done" | "cancelled";
            /** @description The request without its texts. */
            request: {
                [key: string]: unknown;
            };
            selection: {
                /** @description Part of the id or the name, case-insensitive. */
                search?: string;
                /** @description `suspended`: all requests are rejected. `archived`: files can only be read and deleted. A tenant that is both is `suspended`. */
                status?: "active" | "suspended" | "archived";
                /** @description Pairs that the tenant's metadata contains. */
                metadata?: {
                    [key: string]: string;
                };
                /** @description Not these tenants. */
                except?: string[];
                /** Format: uuid */
                found_by?: string;
                /** @description End state of the job in `found_by`. If it was cancelled, or its counts are a lower bound, it may have missed tenants, so this job's `is_exact` is false. */
                found_by_state?: "done" | "inexact" | "cancelled";
            };
            /** @description The tenants to which the job is limited; null for no limit. */
            only_tenants: string[] | null;
            created_by: components["schemas"]["Actor"];
            created_at: components["schemas"]["Time"];
            ended_at: components["schemas"]["Time"] | null;
            /** @description The number of selected tenants when the job was created. */
            tenants: number;
            tenants_done: number;
            /** @description The number of these tenants that failed. */
            tenants_failed: number;
            /** @description Sums by name. A find counts `files`, `lines`, and `hits`; contents in `current`, `superseded`, and `drafts`; `paths` and `directories`; and the `versions` that were read. A revert counts changed `files` and `directories`, `resolved` conflicts, `conflicts`, which it does not revert, open `drafts` that may still contain the changes, and changed files that contain a text that is `kept_out`. An erasure counts edited `files`, redacted `versions`, files and versions in `drafts`, renamed `paths`, and names of past `directories`. It also counts stored `results`, `titles` of drafts, the `hits`, the `searched` versions, and `settings`, which stay unchanged. */
            counts: {
                [key: string]: number;
            };
            /** @description The counts so far for the tenants that are being processed; not in `counts` yet. */
            progress: {
                [key: string]: number;
            } | null;
            /** @description False: the counts are a lower bound. */
            is_exact: boolean;
        };
        JobOutcome: {
            tenant: string;
            at: components["schemas"]["Time"];
            /** @description The error code; null for a success. */
            error: string | null;
            /** @description Sums by name. A find counts `files`, `lines`, and `hits`; contents in `current`, `superseded`, and `drafts`; `paths` and `directories`; and the `versions` that were read. A revert counts changed `files` and `directories`, `resolved` conflicts, `conflicts`, which it does not revert, open `drafts` that may still contain the changes, and changed files that contain a text that is `kept_out`. An erasure counts edited `files`, redacted `versions`, files and versions in `drafts`, renamed `paths`, and names of past `directories`. It also counts stored `results`, `titles` of drafts, the `hits`, the `searched` versions, and `settings`, which stay unchanged. */
            counts: {
                [key: string]: number;
            };
            /** @description False: the counts are a lower bound. */
            is_exact: boolean;
        };
        /** @description A text that is kept out. The text itself is not stored. */
        KeptOut: {
            id: string;
            /** @description The number of words and punctuation marks in the text. */
            tokens: number;
            label: string;
            created_at: components["schemas"]["Time"];
            created_by: components["schemas"]["Actor"];
        };
        /** @description A key, without its secret. */
        Key: {
            id: string;
            /** @description Valid for one tenant, for all tenants (each request names one in `X-Tenant-Id`), or for this API. */
            kind: "tenant" | "service" | "admin";
            tenant: string | null;
            /** @description `propose` (tenant keys): writes go into a draft that a reviewer merges. `operate` (admin keys): everything except managing keys, mounts, webhooks, and texts kept out of all tenants, and creating, archiving, copying, renaming, or deleting tenants. */
            access: "read_write" | "propose" | "operate" | "read_only";
            /** @description For an admin key: the tenants that it may administer; null for all. */
            tenants: string[] | null;
            /** @description For a service key: whether it may also manage memory stores. */
            manages_stores: boolean;
            /** @description The key's rights by path. Empty: the access applies to all files. */
            rights: components["schemas"]["Right"][];
            /** @description For a tenant key: whether it may also share the tenant's memory, and accept invitations. */
            can_share: boolean;
            label: string;
            /** @description The source of the key's writes, recorded in every version. Empty: not specified. */
            source: string;
            created_at: components["schemas"]["Time"];
            expires_at: components["schemas"]["Time"] | null;
            revoked_at: components["schemas"]["Time"] | null;
            /** @description Accurate to five minutes. */
            last_used_at: components["schemas"]["Time"] | null;
            /** @description After a rotation: the previous secret's expiry, while that secret works. */
            previous_expires_at: components["schemas"]["Time"] | null;
        };
        KeyWithPrevious: {
            id: string;
            /** @description Valid for one tenant, for all tenants (each request names one in `X-Tenant-Id`), or for this API. */
            kind: "tenant" | "service" | "admin";
            tenant: string | null;
            /** @description `propose` (tenant keys): writes go into a draft that a reviewer merges. `operate` (admin keys): everything except managing keys, mounts, webhooks, and texts kept out of all tenants, and creating, archiving, copying, renaming, or deleting tenants. */
            access: "read_write" | "propose" | "operate" | "read_only";
            /** @description For an admin key: the tenants that it may administer; null for all. */
            tenants: string[] | null;
            /** @description For a service key: whether it may also manage memory stores. */
            manages_stores: boolean;
            /** @description The key's rights by path. Empty: the access applies to all files. */
            rights: components["schemas"]["Right"][];
            /** @description For a tenant key: whether it may also share the tenant's memory, and accept invitations. */
            can_share: boolean;
            label: string;
            /** @description The source of the key's writes, recorded in every version. Empty: not specified. */
            source: string;
            created_at: components["schemas"]["Time"];
            expires_at: components["schemas"]["Time"] | null;
            revoked_at: components["schemas"]["Time"] | null;
            /** @description Accurate to five minutes. */
            last_used_at: components["schemas"]["Time"] | null;
            /** @description After a rotation: the previous secret's expiry, while that secret works. */
            previous_expires_at: components["schemas"]["Time"] | null;
            /** @description The secret before the last rotation, while it still works. */
            previous: {
                expires_at: components["schemas"]["Time"];
                /** @description Accurate to five minutes. */
                last_used_at: components["schemas"]["Time"] | null;
            } | null;
        };
        MemoryHealth: {
            tenant: string;
            /** @description The memory's files. */
            files: number;
            /** @description The files that were examined. */
            examined: number;
            findings: components["schemas"]["HealthFinding"][];
        };
        MergedDraft: {
            draft: components["schemas"]["Draft"];
            /** @description Null if the memory already matched the draft. */
            merged_at: components["schemas"]["Time"] | null;
            /** @description The changes to the memory's files. `from`: a moved file's previous path. */
            files: {
                /** Format: uuid */
                memory_id: string;
                change: "added" | "changed" | "moved" | "deleted";
                path: string;
                from: string | null;
            }[];
            directories_made: string[];
            directories_removed: string[];
        };
        /** @description Another memory that a tenant shows as a directory. */
        Mount: {
            name: string;
            /** @description Null for a tenant outside the admin key's scope. */
            tenant: string | null;
            access: "read_only" | "propose" | "read_write";
            /** @description Path in the mounted memory: only the file, or the directory with everything below it, is shown. By default the whole memory. */
            prefix?: string;
            instructions: string;
        };
        Mounts: {
            mounts: {
                name: string;
                /** @description Null for a tenant outside the admin key's scope. */
                tenant: string | null;
                access: "read_only" | "propose" | "read_write";
                /** @description Path in the mounted memory: only the file, or the directory with everything below it, is shown. By default the whole memory. */
                prefix?: string;
                instructions: string;
                /** @description `suspended`, `missing`: so is the mounted tenant. `name_taken`: the tenant has a file or directory with this name, which the mount hides. Null for a tenant outside the admin key's scope. */
                status: ("ok" | "suspended" | "missing" | "name_taken") | null;
            }[];
            /** @description Mounts in other tenants that show this tenant: the first 1000, by tenant. */
            mounted_by: {
                tenant: string;
                name: string;
                access: "read_only" | "propose" | "read_write";
            }[];
            /** @description Whether `mounted_by` leaves some out. */
            more: boolean;
        };
        /** @description A tenant's own settings; null: the service's default. */
        OwnSettings: {
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
        ReadSummary: {
            /** @description Days for which reads are recorded; 0: none. */
            days: number;
            /** @description Number of reads since `since`. */
            count: number;
            /** @description Number of actors since `since`. */
            actors: number;
            /** @description The last recorded read; null for none. */
            last_at: components["schemas"]["Time"] | null;
        };
        /** @description A share of another tenant's memory with this tenant. */
        ReceivedShare: {
            id: string;
            /** @description Null outside an admin key's scope. */
            tenant: string | null;
            path: string;
            /**
             * @description Applies to every key for the tenant, regardless of its access to other paths.
             * @default read_only
             */
            access: "read_only" | "propose" | "read_write";
            /** @description Path in the mounted memory: only the file, or the directory with everything below it, is shown. By default the whole memory. */
            prefix?: string;
            /** @description `suspended`, `missing`: so is the other tenant. `name_taken`: a file hides behind the directory. Null outside an admin key's scope. */
            status: ("ok" | "suspended" | "missing" | "name_taken") | null;
            created_at: components["schemas"]["Time"];
        };
        /** @description Rejected requests and calls by an actor, with one reason. */
        RejectedCalls: {
            /** @description Null if the caller is for no tenant, or is unknown. */
            tenant: string | null;
            /** @description Null if the credential was not accepted. */
            actor: components["schemas"]["Actor"] | null;
            /** @description The error code. A rejected call to a tool has one of the same codes, or `read_only`. */
            reason: string;
            count: number;
        };
        Replica: {
            /** Format: uuid */
            id: string;
            version: string;
            started_at: components["schemas"]["Time"];
            seen_at: components["schemas"]["Time"];
        };
        Restored: {
            dry_run: boolean;
            /** @description In path order. */
            files: components["schemas"]["FileChange"][];
            directories_made: string[];
            directories_removed: string[];
            summary: string;
            /** @description Identifies these changes. Send the value from a dry run to make exactly these changes. */
            plan: string;
            /** @description The time at which the versions were created; null if there were none. */
            changed_at: components["schemas"]["Time"] | null;
            /** @description The changed files whose new content or path contains a text that is kept out. They are changed nevertheless: redact their versions, or erase the text. */
            kept_out: string[];
        };
        /** @description The resolution for a file. `reverted` removes the reverted changes, and keeps changes by others in other lines. `current` leaves the file unchanged. `text` replaces its content. */
        RevertResolutionInput: {
            /** Format: uuid */
            memory_id: string;
            take: "reverted" | "current";
        } | {
            /** Format: uuid */
            memory_id: string;
            text: string;
        };
        Reverted: {
            /** @description First, the actor's changes that were not reverted, and why: each entry without a `resolution`. Also lists the files with a resolution. */
            conflicts: components["schemas"]["Conflict"][];
            /** @description Open drafts that may still contain the changes: drafts with versions by the actor, or with copies of the files. A revert does not change drafts. Before a merge, reject or edit these drafts. */
            drafts: string[];
            dry_run: boolean;
            /** @description In path order. */
            files: components["schemas"]["FileChange"][];
            directories_made: string[];
            directories_removed: string[];
            summary: string;
            /** @description Identifies these changes. Send the value from a dry run to make exactly these changes. */
            plan: string;
            /** @description The time at which the versions were created; null if there were none. */
            changed_at: components["schemas"]["Time"] | null;
            /** @description The changed files whose new content or path contains a text that is kept out. They are changed nevertheless: redact their versions, or erase the text. */
            kept_out: string[];
        };
        /** @description Access to a file, or to a directory with everything below it. */
        Right: {
            path: string;
            access: "none" | "read_only" | "propose" | "read_write";
        };
        /** @description Access to a file, or to a directory with everything below it. */
        RightInput: {
            path: string;
            access: "none" | "read_only" | "propose" | "read_write";
        };
        SearchMatch: {
            path: string;
            /** @description From 1; null when only the path matches. */
            line: number | null;
            /** @description The line; if it is long, only a part. */
            text: string | null;
            /** @description The file's score; higher is better. Null in the modes `literal` and `regex`, which sort by path. */
            score: number | null;
        };
        Session: {
            actor: components["schemas"]["Actor"];
            /** @description `propose` (tenant keys): writes go into a draft that a reviewer merges. `operate` (admin keys): everything except managing keys, mounts, webhooks, and texts kept out of all tenants, and creating, archiving, copying, renaming, or deleting tenants. */
            access: "read_write" | "propose" | "operate" | "read_only";
            /** @description The only tenants that the credential is for; null: all tenants. */
            tenants: string[] | null;
            /** @description Whether the credential may only read. */
            read_only: boolean;
            /** @description `PUBLIC_URL`, the agents' API URL as clients reach it; null if it is not set. */
            service_url: string | null;
            /** @description `PORT`, the agents' API port. */
            service_port: number;
            /** @description Whether `SHARING` allows tenants to share memories. */
            sharing: boolean;
            /** @description Service version. */
            version: string;
            /** @description The time by the database's clock, which the history goes by. */
            now: components["schemas"]["Time"];
        };
        /** @description A signed statement about an erasure, with IDs and counts. Save it as a file to verify it later. */
        SignedReceipt: {
            receipt: {
                format: "memory-service-receipt/1";
                /** Format: uuid */
                id: string;
                kind: "tenant_deleted" | "version_redacted" | "directories_redacted" | "text_erased";
                /** @description Database time after the erasure. ISO 8601, UTC. */
                at: string;
                /** @description The actor that made the erasure. */
                by: {
                    [key: string]: string | null;
                };
                /** @description The tenant ID, or a forgotten ID's hash. Null for a job over many tenants. */
                tenant: string | null;
                /** @description The data that was searched. */
                readonly searched: string[];
                /** @description The deleted data's IDs, by their kind. */
                subject: {
                    [key: string]: string;
                };
                /** @description Deleted items, counted by their kind. */
                erased: {
                    [key: string]: number;
                };
                /** @description Copies that remain by design. `until` is null if the operator deletes them. */
                remaining: {
                    place: string;
                    until: string | null;
                }[];
            };
            /** @description The Ed25519 signature over the receipt as canonical JSON (RFC 8785), in base64. */
            signature: string;
            /** @description The first 16 digits in the SHA-256 hash of the public key (SPKI, DER). */
            key_id: string;
            /** @description The ID and the salt whose hash is the receipt's `tenant`. The service does not store the salt. */
            proof?: {
                tenant: string;
                salt: string;
            };
        };
        Tenant: {
            id: string;
            /** @description A display name, not unique. By default, the id. */
            name: string;
            /** @description The memory's contents, described for people and agents. */
            description: string;
            metadata: {
                [key: string]: string;
            };
            /** @description For a draft: its original tenant. */
            draft_of: string | null;
            /** @description `suspended`: all requests are rejected. `archived`: files can only be read and deleted. A tenant that is both is `suspended`. */
            status: "active" | "suspended" | "archived";
            created_at: components["schemas"]["Time"];
            suspended_at: components["schemas"]["Time"] | null;
            /** @description Since when files can only be read and deleted. */
            archived_at: components["schemas"]["Time"] | null;
            /** @description When a file last changed; null if never. */
            last_change_at: components["schemas"]["Time"] | null;
            files: number;
            bytes: number;
            history_versions: number;
            history_bytes: number;
            /** @description The time since which the history is complete. */
            history_since: components["schemas"]["Time"];
            /** @description Percentage of the file or byte limit, whichever is closer to being reached; null without limits. */
            used_percent: number | null;
            mounts: components["schemas"]["Mount"][];
            settings: components["schemas"]["OwnSettings"];
            effective: components["schemas"]["EffectiveSettings"];
        };
        /** @description All conditions must match. The default is all tenants. */
        TenantSelectionInput: {
            /** @description Only these tenants. */
            ids?: string[];
            /** @description Part of the id or the name, case-insensitive. */
            search?: string;
            /** @description `suspended`: all requests are rejected. `archived`: files can only be read and deleted. A tenant that is both is `suspended`. */
            status?: "active" | "suspended" | "archived";
            /** @description Pairs that the tenant's metadata contains. */
            metadata?: {
                [key: string]: string;
            };
            /** @description Not these tenants. */
            except?: string[];
            /**
             * Format: uuid
             * @description An ended job's ID: only tenants with an outcome in this job, such as the tenants with hits in a find.
             */
            found_by?: string;
        };
        /** @description Counts for all matching tenants, on all pages. */
        TenantTotals: {
            tenants: number;
            files: number;
            bytes: number;
            history_bytes: number;
        };
        /** @description ISO 8601, UTC. */
        Time: string;
        Usage: {
            id: string;
            files: components["schemas"]["Used"];
            bytes: components["schemas"]["Used"];
            history_bytes: components["schemas"]["Used"];
            history_versions: number;
            stored_results: number;
            /** @description When the memory last changed, a file was last read (accurate to the day), or a key for the tenant was last used, whichever is latest. */
            last_activity_at: components["schemas"]["Time"] | null;
        };
        /** @description The sizes are the last ones that were recorded on the day. */
        UsageDay: {
            /** @description By UTC. */
            day: string;
            files: number;
            bytes: number;
            history_bytes: number;
            /** @description Calls that read or searched. */
            reads: number;
            /** @description Calls that write, including those with invalid input. */
            writes: number;
            /** @description Requests that were rejected with 403, 409, or 429, and writes that were rejected because the memory is full, archived, or read-only. */
            rejected: number;
        };
        Used: {
            used: number;
            /** @description Null: no limit. */
            limit: number | null;
        };
        /** @description A change to a file. A version never changes, unless it is redacted. */
        Version: {
            /** Format: uuid */
            id: string;
            /**
             * Format: uuid
             * @description Identifies the file across edits and renames.
             */
            memory_id: string;
            operation: "created" | "modified" | "renamed" | "deleted";
            /** @description After the change; for a deletion, the last path. Null once redacted. */
            path: string | null;
            content_sha256: string | null;
            content_size_bytes: number | null;
            created_at: components["schemas"]["Time"];
            actor: components["schemas"]["Actor"];
            request_id: string | null;
            tool_use_id: string | null;
            /** @description The tenant that mounts this memory, if the change came through its mount. */
            via_tenant: string | null;
            /** @description The source that the operator declared for the key that made the change; a merge keeps the source. */
            source: string | null;
            /** @description The draft that it was merged from. */
            draft: string | null;
            /** @description The actor that merged the version from a draft by `actor`. */
            approved_by: components["schemas"]["Actor"] | null;
            redacted_at: components["schemas"]["Time"] | null;
            redacted_by: components["schemas"]["Actor"] | null;
            /** @description The version that it replaced; null if there was none or it has been pruned. */
            previous_version: string | null;
            previous_path: string | null;
        };
        VersionWithContent: {
            /** Format: uuid */
            id: string;
            /**
             * Format: uuid
             * @description Identifies the file across edits and renames.
             */
            memory_id: string;
            operation: "created" | "modified" | "renamed" | "deleted";
            /** @description After the change; for a deletion, the last path. Null once redacted. */
            path: string | null;
            content_sha256: string | null;
            content_size_bytes: number | null;
            created_at: components["schemas"]["Time"];
            actor: components["schemas"]["Actor"];
            request_id: string | null;
            tool_use_id: string | null;
            /** @description The tenant that mounts this memory, if the change came through its mount. */
            via_tenant: string | null;
            /** @description The source that the operator declared for the key that made the change; a merge keeps the source. */
            source: string | null;
            /** @description The draft that it was merged from. */
            draft: string | null;
            /** @description The actor that merged the version from a draft by `actor`. */
            approved_by: components["schemas"]["Actor"] | null;
            redacted_at: components["schemas"]["Time"] | null;
            redacted_by: components["schemas"]["Actor"] | null;
            /** @description The version that it replaced; null if there was none or it has been pruned. */
            previous_version: string | null;
            previous_path: string | null;
            content: string | null;
        };
        /** @description A webhook, without its secret. */
        Webhook: {
            id: string;
            /** @description Null: all tenants' events. */
            tenant: string | null;
            /** @description Receives the messages by POST. */
            url: string;
            /** @description Only events with these types; null for all. */
            types: ("created" | "modified" | "renamed" | "deleted" | "restored" | "redacted" | "tenant_created" | "tenant_suspended" | "tenant_resumed" | "tenant_deleted" | "tenant_renamed" | "draft_opened" | "draft_merged" | "draft_rejected" | "share_created" | "share_ended" | "key_created" | "key_revoked")[] | null;
            /** @description A file or a directory: only events at or below the path; null for all. A redaction has no path. */
            path: unknown | null;
            /** @description Whether the messages have the contents. */
            content: boolean;
            enabled: boolean;
            /** @description `failing`: for three days, no message was accepted. `gone`: a response was 410. */
            disabled_reason: ("by_operator" | "failing" | "gone") | null;
            /** @description First failure since the last accepted message. */
            failing_since: components["schemas"]["Time"] | null;
            /** @description Next attempt of a failing endpoint. */
            next_attempt_at: components["schemas"]["Time"] | null;
            /** @description When changes were last lost, because they were no longer in the history. */
            gap_at: components["schemas"]["Time"] | null;
            /** @description Time until which the secret before the last rotation also signs. */
            previous_secret_until: components["schemas"]["Time"] | null;
            created_at: components["schemas"]["Time"];
        };
        WebhookDelivery: {
            at: components["schemas"]["Time"];
            /** @description The header `webhook-id`, the same in each attempt. */
            message_id: string;
            type: string;
            tenant: string | null;
            /** @description HTTP status; null without a response. */
            status: number | null;
            /** @description Null if the message was accepted. */
            error: ("address_not_allowed" | "connection_failed" | "name_not_resolved" | "redirected" | "rejected" | "timeout" | "tls_failed") | null;
            /** @description Duration of the attempt, in milliseconds. */
            duration_ms: number;
        };
        WebhookTest: {
            /** @description HTTP status; null without a response. */
            status: number | null;
            /** @description Null if the message was accepted. */
            error: ("address_not_allowed" | "connection_failed" | "name_not_resolved" | "redirected" | "rejected" | "timeout" | "tls_failed") | null;
            /** @description Duration of the attempt, in milliseconds. */
            duration_ms: number;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type ActiveTenant = components['schemas']['ActiveTenant'];
export type Activity = components['schemas']['Activity'];
export type Actor = components['schemas']['Actor'];
export type AdjacentChanges = components['schemas']['AdjacentChanges'];
export type AuditEvent = components['schemas']['AuditEvent'];
export type Caller = components['schemas']['Caller'];
export type CommandLatency = components['schemas']['CommandLatency'];
export type Conflict = components['schemas']['Conflict'];
export type Difference = components['schemas']['Difference'];
export type DirectoryPage = components['schemas']['DirectoryPage'];
export type DirectorySizes = components['schemas']['DirectorySizes'];
export type Draft = components['schemas']['Draft'];
export type DraftChange = components['schemas']['DraftChange'];
export type DraftComment = components['schemas']['DraftComment'];
export type DraftResolutionInput = components['schemas']['DraftResolutionInput'];
export type EffectiveSettings = components['schemas']['EffectiveSettings'];
export type Entry = components['schemas']['Entry'];
export type FileChange = components['schemas']['FileChange'];
export type FleetDay = components['schemas']['FleetDay'];
export type FleetTotals = components['schemas']['FleetTotals'];
export type FoundActor = components['schemas']['FoundActor'];
export type GivenShare = components['schemas']['GivenShare'];
export type HealthFinding = components['schemas']['HealthFinding'];
export type Hit = components['schemas']['Hit'];
export type Imported = components['schemas']['Imported'];
export type Instructions = components['schemas']['Instructions'];
export type Invitation = components['schemas']['Invitation'];
export type Job = components['schemas']['Job'];
export type JobOutcome = components['schemas']['JobOutcome'];
export type KeptOut = components['schemas']['KeptOut'];
export type Key = components['schemas']['Key'];
export type KeyWithPrevious = components['schemas']['KeyWithPrevious'];
export type MemoryHealth = components['schemas']['MemoryHealth'];
export type MergedDraft = components['schemas']['MergedDraft'];
export type Mount = components['schemas']['Mount'];
export type Mounts = components['schemas']['Mounts'];
export type OwnSettings = components['schemas']['OwnSettings'];
export type ReadSummary = components['schemas']['ReadSummary'];
export type ReceivedShare = components['schemas']['ReceivedShare'];
export type RejectedCalls = components['schemas']['RejectedCalls'];
export type Replica = components['schemas']['Replica'];
export type Restored = components['schemas']['Restored'];
export type RevertResolutionInput = components['schemas']['RevertResolutionInput'];
export type Reverted = components['schemas']['Reverted'];
export type Right = components['schemas']['Right'];
export type RightInput = components['schemas']['RightInput'];
export type SearchMatch = components['schemas']['SearchMatch'];
export type Session = components['schemas']['Session'];
export type SignedReceipt = components['schemas']['SignedReceipt'];
export type Tenant = components['schemas']['Tenant'];
export type TenantSelectionInput = components['schemas']['TenantSelectionInput'];
export type TenantTotals = components['schemas']['TenantTotals'];
export type Time = components['schemas']['Time'];
export type Usage = components['schemas']['Usage'];
export type UsageDay = components['schemas']['UsageDay'];
export type Used = components['schemas']['Used'];
export type Version = components['schemas']['Version'];
export type VersionWithContent = components['schemas']['VersionWithContent'];
export type Webhook = components['schemas']['Webhook'];
export type WebhookDelivery = components['schemas']['WebhookDelivery'];
export type WebhookTest = components['schemas']['WebhookTest'];
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
