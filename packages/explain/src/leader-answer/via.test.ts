// SPDX-License-Identifier: Apache-2.0
/** `--via`: what the leader itself says, and whatever else may answer at its address. */
import { describe, expect, it } from 'vitest';
import {
  addWithEvent,
  ago,
  asked,
  attachment,
  claim,
  clusterOf,
  csiDriver,
  driver,
  explain,
  leading,
  add,
  namespace,
  runWith,
  storageClass,
} from '../../testing/cluster.ts';
import { aLoop, anAnswer } from '../../testing/leader-answer.ts';
import { parseEndpoints } from './endpoints.ts';
import type { AskHttp } from './http.ts';

const url = 'http://127.0.0.1:8080';
const via = `--via=${url}`;

function answering(document: unknown, fields: Partial<Awaited<ReturnType<AskHttp>>> = {}) {
  const urls: string[] = [];
  const ask: AskHttp = async (asking) => {
    urls.push(asking.href);
    return { status: 200, contentType: 'application/json', body: JSON.stringify(document), ...fields };
  };
  return { ask, urls };
}

/** A VolumeAttachment without a status for twelve minutes, and its attacher, which lives. */
function waitingAttachment() {
  const host = clusterOf([csiDriver()]);
  const leaseName = `external-attacher-leader-${driver.replaceAll('.', '-')}`;
  add(host, attachment('csi-1', { metadata: { creationTimestamp: ago(host, 720) } }));
  add(host, ...leading(host, 'csi-attacher', leaseName));
  return host;
}

/** A claim that the driver has refused nine times: a person is needed. */
function refusedClaim() {
  const host = clusterOf([storageClass('gp'), csiDriver()]);
  addWithEvent(host, claim('data', { metadata: asked }), {
    reason: 'ProvisioningFailed',
    message: 'rpc error: code = InvalidArgument desc = pool p1 does not exist',
    firstAgo: 900,
    lastAgo: 14,
    count: 9,
  });
  return host;
}

describe('the leader says', () => {
  it('[explain#17] given a key that waits in its queue, then the sentence has its place, and the retry is exact', async () => {
    const { ask, urls } = answering(anAnswer([{ ...aLoop, queue: { ...aLoop.queue, place: 400, depth: 900 } }]));
    const { code, document } = await explain(waitingAttachment(), ['va/csi-1', via], ask);
    expect([code, document.row]).toEqual([3, 'X51']);
    expect(document.sentence).toBe('csi-attacher waits in its queue, at place 400 of 900');
    expect(document.retry).toMatchObject({ will: 'yes', exact: true });
    expect(document.driver?.sidecars).toMatchObject([{ program: 'csi-attacher', flavour: 'ours', version: 'v1.2.3' }]);
    expect(urls).toEqual([`${url}/debug/explain?kind=va&key=csi-1`]);
  });

  it('given a program that leads, then the document has its lease, its container and the tag of its image; its leader knows better', async () => {
    const found = {
      program: 'csi-attacher',
      container: 'csi-attacher',
      lease: `external-attacher-leader-${driver.replaceAll('.', '-')}`,
      leading: true,
    };
    const unsaid = { connected: null, capabilities: null, settings: null, missingRights: null };
    const outside = await explain(waitingAttachment(), ['va/csi-1']);
    expect(outside.document.driver?.sidecars).toEqual([
      { ...found, ...unsaid, flavour: 'unknown', version: 'v1', pod: 'csi-attacher-0' },
    ]);
    const told = { ...found, flavour: 'ours', version: 'v1.2.3', pod: 'pod-1' };
    const silent = await explain(waitingAttachment(), ['va/csi-1', via], answering(anAnswer([aLoop])).ask);
    expect(silent.document.driver?.sidecars).toEqual([{ ...told, ...unsaid }]);
    const rights = [{ verb: 'patch', group: '', resource: 'persistentvolumes', namespace: null }];
    const facts = {
      driver: { name: driver, connected: false, capabilities: ['PUBLISH_UNPUBLISH_VOLUME'] },
      settings: { timeout: '1m0s\u001b' },
      rights,
    };
    const { document } = await explain(waitingAttachment(), ['va/csi-1', via], answering(anAnswer([aLoop], facts)).ask);
    expect(document.driver?.sidecars).toEqual([
      {
        ...told,
        connected: false,
        capabilities: ['PUBLISH_UNPUBLISH_VOLUME'],
        settings: { timeout: '1m0s?' },
        missingRights: rights,
      },
    ]);
  });

  it('given a call under way, then the decision comes from the leader, with its row and its method', async () => {
    const host = waitingAttachment();
    const run = {
      row: 'A12',
      action: 'publish',
      method: 'ControllerPublishVolume',
      startedAt: ago(host, 14),
      deadlineAt: null,
    };
    const { document } = await explain(host, ['va/csi-1', via], answering(anAnswer([{ ...aLoop, run }])).ask);
    expect(document.decision).toMatchObject({ origin: 'told', row: 'A12', program: 'csi-attacher', assumed: [] });
    expect(document.decision?.sentence).toMatch(/^calls ControllerPublishVolume since 1[45] s$/);
    expect(document.sentence).toMatch(/^csi-attacher calls ControllerPublishVolume/);
    expect(host.printed()).toContain('A12');
  });

  it('given the end of a backoff, then the retry is that moment, and the screen says that the leader reported the decision', async () => {
    const host = refusedClaim();
    const nextAt = new Date(host.clock.nowMs() + 90_000).toISOString();
    const last = {
      row: 'C24',
      action: 'conclude',
      at: ago(host, 14),
      tookSeconds: 1,
      code: 'InvalidArgument',
      text: 'no pool',
    };
    const answer = anAnswer([{ ...aLoop, last, backoff: { failures: 9, nextAt } }], { program: 'csi-provisioner' });
    const { document } = await explain(host, ['pvc/data', '-n', namespace, via], answering(answer).ask);
    const next = nextAt.replace(/\.\d+Z/, 'Z');
    expect(document.retry).toMatchObject({ will: 'yes', earliest: next, latest: next, exact: true });
    expect(await runWith(host, ['pvc/data', '-n', namespace, via], { columns: 100, ask: answering(answer).ask })).toBe(
      4,
    );
    expect(host.printed()).toContain('C24 of csi-provisioner (told)');
  });
});

describe('whatever else answers', () => {
  const outside = async () => await explain(refusedClaim(), ['pvc/data', '-n', namespace]);

  it.each([
    ['[explain#78] given a port-forward that nobody has opened', new Error('connect ECONNREFUSED'), 'ECONNREFUSED'],
    [
      '[explain#79] given an upstream program',
      { status: 404, contentType: 'text/plain', body: '404 page not found\n' },
      '404',
    ],
    ['[explain#80] given HTML', { contentType: 'text/html', body: '<html>' }, 'no JSON'],
    [
      '[explain#80] given JSON with fields of a verdict',
      { body: JSON.stringify({ ...anAnswer([aLoop]), verdict: 'done', exitCode: 0 }) },
      'not that of csi-sidecars',
    ],
    [
      '[explain#80] given another document',
      { body: JSON.stringify({ kind: 'Explanation', verdict: 'done' }) },
      'not that of csi-sidecars',
    ],
    [
      'given a row that is none',
      {
        body: JSON.stringify(
          anAnswer([
            { ...aLoop, last: { row: 'C1\n', action: 'x', at: '2026-01-01T00:00:00Z', code: null, text: null } },
          ]),
        ),
      },
      'not that of csi-sidecars',
    ],
    [
      'given a place that is none',
      { body: JSON.stringify(anAnswer([{ ...aLoop, queue: { depth: 1, place: -1 } }])) },
      'not that of csi-sidecars',
    ],
    ['given 429', { status: 429 }, '429'],
    ['given 503', { status: 503 }, '503'],
    [
      'given a standby',
      { body: JSON.stringify(anAnswer([], { program: 'csi-provisioner', leading: false, holder: 'pod-2\u001b[2J' })) },
      'pod-2?[2J does',
    ],
    [
      'given the leader of another program',
      { body: JSON.stringify(anAnswer([aLoop])) },
      'no endpoint is that of csi-provisioner',
    ],
  ])('%s, then one line says so, and the answer is that from outside', async (_title, given, line) => {
    const host = refusedClaim();
    const ask: AskHttp = async () => {
      if (given instanceof Error) throw given;
      return { status: 200, contentType: 'application/json', body: '', ...given };
    };
    const { code, document } = await explain(host, ['pvc/data', '-n', namespace, via], ask);
    const plain = await outside();
    expect([code, { ...document, cost: null }]).toEqual([4, { ...plain.document, cost: null }]);
    const lines = host.logged().trimEnd().split('\n');
    expect(lines).toEqual([expect.stringContaining(line)]);
    expect(lines[0]).toMatch(/^[ -~]*$/);
  });

  it('[explain#80] given a leader that is done with everything, then the exit code of a person who is needed stays', async () => {
    const { code, document } = await explain(
      refusedClaim(),
      ['pvc/data', '-n', namespace, via],
      answering(anAnswer([{ ...aLoop, known: false }], { program: 'csi-provisioner' })).ask,
    );
    expect([code, document.verdict]).toEqual([4, 'person']);
  });

  it('[explain#78] given an endpoint that is silent, then after five seconds one line says so', async () => {
    const host = refusedClaim();
    const { code } = await explain(host, ['pvc/data', '-n', namespace, via], () => new Promise(() => undefined));
    expect(code).toBe(4);
    expect(host.logged()).toContain('deadline of 5000 ms exceeded');
  });

  it('given an answer about an object of another uid, then it is not used', async () => {
    const loop = { ...aLoop, uid: 'uid-of-another', queue: { ...aLoop.queue, place: 1, depth: 1 } };
    const answer = anAnswer([loop], { program: 'csi-provisioner' });
    const { document } = await explain(refusedClaim(), ['pvc/data', '-n', namespace, via], answering(answer).ask);
    expect(document.retry?.exact).toBe(false);
  });
});

describe('the address', () => {
  it.each([
    'https://127.0.0.1:1',
    'http://10.0.0.1:1',
    'http://evil.example.com',
    'http://127.0.0.1.evil.example.com',
    'http://u:p@127.0.0.1',
    'http://127.0.0.1/x',
    'http://127.0.0.1/?x',
    '127.0.0.1:1',
    Array(9).fill('http://127.0.0.1:1').join(','),
  ])('given --via=%s, then the exit code is 2, and nothing is asked', async (text) => {
    const host = clusterOf([]);
    const { ask, urls } = answering({});
    expect(await runWith(host, ['pvc/data', `--via=${text}`], { ask })).toBe(2);
    expect([urls, host.logged().includes('u:p')]).toEqual([[], false]);
  });

  it('given addresses of this machine, then each is asked, localhost by its address', () => {
    const endpoints = parseEndpoints('http://localhost:1,http://[::1]:2,http://127.1.2.3:3/');
    expect(endpoints.kind === 'endpoints' && endpoints.urls.map(String)).toEqual([
      'http://127.0.0.1:1/',
      'http://[::1]:2/',
      'http://127.1.2.3:3/',
    ]);
  });
});
