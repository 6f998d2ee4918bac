import { expect, it } from 'vitest';
import { doctor, installation } from '../testing/installation.ts';
it('x', async () => {
  const { code, document, found, host } = await doctor(installation());
  console.log(
    JSON.stringify(
      { found, code, f: document.findings, n: document.notRun, e: (document as any).error, log: host.logged() },
      undefined,
      1,
    ),
  );
  expect(found).toEqual([]);
});
