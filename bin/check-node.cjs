// Rejects a Node that is too old, in one line. CommonJS of any age, because everything else fails there with a stack.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 13)) {
  process.stderr.write(
    `memory-service: Node ${process.versions.node} is too old. Install Node 22.13 or newer (https://nodejs.org), and make it the first in PATH.\n`,
  );
  process.exit(1);
}
