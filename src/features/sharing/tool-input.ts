import { z } from 'zod';
import { text } from '../../core/admin/fields.ts';
import { acceptanceBody, invitationBody } from './sharing-schemas.ts';

/* The sharing tool's input. */

export const SHARING_TOOL = 'memory_sharing';

/** Each command's fields, and its use for the model. */
export const COMMANDS = {
  list: {
    fields: z.strictObject({}),
    use: 'Shows who shares with you, with whom you share, and your open invitations.',
  },
  invite: {
    fields: invitationBody,
    use: "Creates an invitation to your memory, and shows its token once. Give the token to the other agent only: whoever has it can mount the memory. Don't write it into a file.",
  },
  revoke: {
    fields: z.strictObject({ invitation: text(255) }),
    use: 'Revokes an open invitation. Shares that were accepted before remain.',
  },
  accept: {
    fields: acceptanceBody,
    use: 'Accepts an invitation by its token. The other memory is then the directory /memories/`name`, for all agents of your memory. `instructions` tell them its purpose.',
  },
  end: {
    fields: z.strictObject({ share: text(255) }),
    use: 'Ends a share that you give or receive. Both memories keep their files.',
  },
} as const;

export type SharingCommand = keyof typeof COMMANDS;
export const SHARING_COMMANDS = Object.keys(COMMANDS) as SharingCommand[];

/** Field descriptions for models. */
export const FIELD_TEXTS = {
  access: 'The access to your memory for the other agents: read_only by default.',
  prefix:
    'The only file or directory of your memory that the invitation shares: the whole memory by default.',
  reusable: 'Whether several memories may accept the invitation: false by default.',
  expires_in_seconds: 'The time in which the invitation can be accepted: 7 days by default.',
  invitation: "An invitation's ID, such as inv_0123456789ab.",
  token: "An invitation's token, which begins with msi_.",
  name: 'The name of the new directory below /memories.',
  instructions: 'The purpose of the directory, in words for the agents that read it.',
  share: "A share's ID, such as shr_0123456789ab.",
} as const;

/** Returns all commands' fields, by their names. A field is optional and has no default, because it is for one command. */
export function sharingFields(): Record<string, z.ZodType> {
  const fields: Record<string, z.ZodType> = Object.assign(
    {},
    ...SHARING_COMMANDS.map((name) => COMMANDS[name].fields.shape),
  );
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, withoutDefault(field).optional()]),
  );
}

function withoutDefault(field: z.ZodType): z.ZodType {
  return field instanceof z.ZodDefault ? (field.unwrap() as z.ZodType).meta({ ...field.meta() }) : field;
}
