// SPDX-License-Identifier: Apache-2.0
/** `/debug/explain` of controllers in one process: over a real driver socket and a real port, with an API server in memory. */
import { csiError } from '@csi-sidecars/csi/testing';
import { aClass } from '@csi-sidecars/provisioner/testing';
import type { Secret } from '@csi-sidecars/runtime';
import type { DebugExplanation } from '@csi-sidecars/runtime/internal';
import { freePort, until } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { attaching, driverName, growing, runCombined, waitingClaim } from '../../testing/run-all.ts';

const secretParameters = {
  'csi.storage.k8s.io/provisioner-secret-name': 'credentials',
  'csi.storage.k8s.io/provisioner-secret-namespace': 'storage',
  pool: 'param-mark',
};
const secret: Secret = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'credentials', namespace: 'storage', uid: 'uid-secret' },
  data: { key: Buffer.from('secret-mark').toString('base64') },
};
const marks = ['secret-mark', Buffer.from('secret-mark').toString('base64'), 'param-mark', 'text-mark', 'context-mark'];

async function ask(port: number, query = ''): Promise<{ readonly text: string; readonly document: DebugExplanation }> {
  const response = await fetch(`http://127.0.0.1:${port}/debug/explain${query}`);
  const text = await response.text();
  expect([response.status, text === '' ? 'nothing' : 'a document']).toEqual([200, 'a document']);
  return { text, document: JSON.parse(text) as DebugExplanation };
}

it('[explain#85] given a call with a secret under way, and one that has failed with a password in its text, then no answer has a byte of them', async () => {
  const port = await freePort();
  const requests: unknown[] = [];
  const answers: PromiseWithResolvers<never>[] = [];
  await using program = await runCombined({
    args: ['--controllers=attacher,provisioner', `--http-endpoint=127.0.0.1:${port}`, '--debug-explain=loopback'],
    handlers: {
      '/csi.v1.Controller/CreateVolume': (request) => {
        requests.push(request);
        const answer = Promise.withResolvers<never>();
        answers.push(answer);
        return answer.promise;
      },
    },
    seed: [aClass({ parameters: secretParameters }), secret, waitingClaim()],
  });
  await until(() => requests.length === 1);
  // The secret was in the request, so it could be in an answer.
  expect(JSON.stringify(requests)).toContain('secret-mark');
  const during = await ask(port, '?kind=pvc&key=team/data');
  expect(during.document.controllers.map(({ program: name, leading }) => [name, leading])).toEqual([
    ['csi-attacher', true],
    ['csi-provisioner', true],
  ]);
  expect(during.document.controllers).toMatchObject([
    { driver: { name: driverName, connected: true, capabilities: expect.any(Array) as unknown } },
    { driver: { name: driverName, connected: true }, settings: { 'csi-address': expect.any(String) as unknown } },
  ]);
  const [claims] = during.document.controllers[1]!.loops;
  expect(claims).toMatchObject({
    known: true,
    uid: 'uid-data',
    run: { action: 'createVolume', method: 'CreateVolume' },
    memory: ['pinned'],
  });
  answers[0]!.reject(csiError('Unavailable', 'login to https://admin:text-mark@array failed: password=text-mark'));
  await until(() => program.host.logged().includes('login to'));
  const after = await ask(port, '?kind=pvc&key=team/data');
  expect(after.document.controllers[1]!.loops[0]).toMatchObject({
    run: null,
    last: { code: 'Unavailable', text: expect.stringContaining('login to') as unknown },
    backoff: { failures: 1 },
  });
  const summary = await ask(port);
  const byUid = await ask(port, '?kind=pvc&uid=uid-data');
  expect(byUid.document.known).toBe(true);
  const other = await ask(port, '?kind=pv&key=nothing');
  expect(other.document.known).toBe(false);
  for (const { text } of [during, after, summary, byUid, other]) {
    expect(marks.filter((mark) => text.includes(mark))).toEqual([]);
  }
  // Nor does a summary or an answer about another object name keys.
  expect([summary.text, other.text].some((text) => text.includes('uid-data') || text.includes('team/data'))).toBe(
    false,
  );
});

it('given controllers that work on the same claim, then each of them answers for its loops, and none for kinds of others', async () => {
  const port = await freePort();
  await using program = await runCombined({
    args: ['--controllers=attacher,resizer', `--http-endpoint=127.0.0.1:${port}`, '--debug-explain=loopback'],
    seed: [...growing(), ...attaching()],
  });
  await until(() => program.calls().includes('ControllerExpandVolume'));
  const { document } = await ask(port, '?kind=pvc&key=team/bound');
  expect(document.controllers.map(({ program: name, loops }) => [name, loops.map(({ queue }) => queue.name)])).toEqual([
    ['csi-attacher', []],
    ['csi-resizer', [`${driverName}-pvc`]],
  ]);
});
