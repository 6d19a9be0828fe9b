CREATE TABLE "activity" (
	"slot" timestamp with time zone NOT NULL,
	"replica" uuid NOT NULL,
	"version" text COLLATE "C" NOT NULL,
	"started_at" timestamp with time zone NOT NULL,
	"seen_at" timestamp with time zone,
	"reads" bigint NOT NULL,
	"writes" bigint NOT NULL,
	"rejected" bigint NOT NULL,
	"calls" jsonb NOT NULL,
	"durations" jsonb NOT NULL,
	CONSTRAINT "activity_slot_replica_pk" PRIMARY KEY("slot","replica")
);
