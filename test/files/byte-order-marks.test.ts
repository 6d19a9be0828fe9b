import { expect, it } from 'vitest';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

describeService('a text that starts with a byte order mark', (service) => {
  it('keeps a leading byte order mark in a text, even after a database error', async () => {
    const [path, view] = [
      '/memories/f',
      "Here's the content of /memories/f with line numbers:\n     1\t\ufeffx",
    ];
    const tenant = freshTenant();
    await service().execute(cmd.create(path, '\ufeffx'), { tenant });
    expect((await service().execute(cmd.view(path), { tenant })).content).toBe(view);
    await expect(service().query('SELECT 1 / 0')).rejects.toThrow();
    expect((await service().execute(cmd.view(path), { tenant })).content).toBe(view);
  });
});
