ALTER TABLE "tenants" ADD COLUMN "max_context_chars" bigint;--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN "pinned_paths" text COLLATE "C";