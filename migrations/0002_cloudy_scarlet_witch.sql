ALTER TABLE "kept_out" ADD COLUMN "change" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "kept_out" ADD COLUMN "removed" text COLLATE "C";--> statement-breakpoint
CREATE INDEX "kept_out_change" ON "kept_out" USING btree ("change","id");