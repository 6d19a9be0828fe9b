/**
 * `attacker.ts TITLE URL SECONDS ADMIN_URL`: runs one attack in a separate process, so that it does not delay the
 * measuring client.
 */
import { adminAttacks } from './admin-attacks.ts';
import { attacks } from './attacks.ts';

const [title, url, seconds, adminUrl = ''] = process.argv.slice(2);
const attack = [...attacks, ...adminAttacks].find((each) => each.title === title);
if (attack === undefined || url === undefined) throw new Error(`There is no attack "${title}".`);
const end = performance.now() + Number(seconds) * 1000;
const counts = await attack.run(url, () => performance.now() > end, adminUrl);
process.send?.(counts, () => process.exit());
