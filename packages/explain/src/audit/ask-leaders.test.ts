// SPDX-License-Identifier: Apache-2.0
/** `audit --via-pod` and `--via`: what leaders answer of their last audit, and what becomes of the exit code. */
import type { FakeHost } from '@csi-sidecars/sidecar/testing';
import { describe, expect, it } from 'vitest';
import { type AuditJson, ended } from '../../testing/audit.ts';
import { add, ago, clusterOf, csiDriver, driver, lease, sidecarPod } from '../../testing/cluster.ts';
import type { HttpAnswer } from '../leader-answer/http.ts';
import type { AskPod } from '../port-forward/pod-port.ts';
import { runAudit } from './program.ts';

const at = '2026-01-01T00:00:00.000Z';
const finding = {
  row: 'O6',
  class: 'unrecorded',
  level: 'difference',
  confirmed: true,
  handle: 'vol-1',
  object: null,
  claim: null,
  since: at,
  sentence: 'no object of this cluster names it; another cluster may',
};
const last = {
  startedAt: at,
  endedAt: at,
  result: 'ok',
  reason: null,
  entries: 3,
  counts: {},
  findings: [] as object[],
  truncated: false,
};
const differs = { ...last, counts: { unrecorded: 1 }, findings: [finding] };

function anAudit(program: string, changes: object = {}): object {
  const listed = program === 'csi-provisioner' ? 'volumes' : 'snapshots';
  const controller = { program, driver, leading: true, holder: null, listed, running: false, last };
  return {
    apiVersion: 'csi-sidecars/v1',
    kind: 'DebugAudit',
    version: 'v1',
    pod: `${program}-0`,
    now: at,
    controllers: [{ ...controller, ...changes }],
  };
}

/** Both programs lead, and serve HTTP at ports of their own. */
function cluster(): FakeHost {
  const host = clusterOf([csiDriver()]);
  const dashed = driver.replaceAll('.', '-');
  const names = { 'csi-provisioner': dashed, 'csi-snapshotter': `external-snapshotter-leader-${dashed}` };
  for (const [program, name] of Object.entries(names)) {
    const image = `registry.example.com/${program}:v1`;
    const spec = { containers: [{ name: program, image, args: ['--http-endpoint=:8080'] }] };
    add(host, lease(name, { holder: `${program}-0`, renewed: ago(host, 3), seconds: 3_600 }));
    add(host, sidecarPod(program, { spec }));
  }
  return host;
}

type Answers = (program: string) => object | Partial<HttpAnswer>;

async function audit(answers: Answers, args: readonly string[] = [], host: FakeHost = cluster()) {
  const asked: string[] = [];
  const askPod: AskPod = async ({ namespace, pod, port }, path) => {
    asked.push(`${namespace}/${pod}:${port}${path}`);
    const answer = answers(pod.replace(/-0$/, ''));
    const isHttp = 'status' in answer || 'contentType' in answer;
    return {
      status: 200,
      contentType: 'application/json',
      body: JSON.stringify(answer),
      ...(isHttp && answer),
    };
  };
  const all = [`--driver=${driver}`, '--via-pod', '-o', 'json', ...args];
  const code = await ended(host, runAudit({ host: { ...host, args: all }, lifecycle: host.lifecycle, askPod }));
  const printed = host.printed();
  return { code, asked, host, document: (printed.startsWith('{') ? JSON.parse(printed) : {}) as AuditJson };
}

describe('the last audit of the leaders', () => {
  it('given a difference, then it is printed with who has compared, and the exit code is 4; the driver is not called', async () => {
    const { code, asked, document } = await audit((program) =>
      anAudit(program, program === 'csi-provisioner' ? { last: differs } : {}),
    );
    expect(asked).toEqual(['storage/csi-provisioner-0:8080/debug/audit', 'storage/csi-snapshotter-0:8080/debug/audit']);
    expect([code, document.counts]).toEqual([4, { unrecorded: 1 }]);
    expect(document.findings).toMatchObject([{ row: 'O6', class: 'unrecorded', handle: 'vol-1', confirmed: true }]);
    expect(document).toMatchObject({
      entries: { volumes: 3, snapshots: 3 },
      leaders: [
        { listed: 'volumes', program: 'csi-provisioner', pod: 'csi-provisioner-0', at, truncated: false },
        { listed: 'snapshots', program: 'csi-snapshotter', pod: 'csi-snapshotter-0', at, truncated: false },
      ],
    });
    expect(document.notRun.map(({ kind }) => kind)).toEqual(['attachments']);
  });

  it('given no difference, then the exit code is 0; given what may be work, then it is 3', async () => {
    expect((await audit((program) => anAudit(program))).code).toBe(0);
    const young = { ...finding, row: 'O3', class: 'young', level: 'mayBeWork', confirmed: false };
    const answered = { ...last, counts: { young: 1 }, findings: [young] };
    expect((await audit((program) => anAudit(program, { last: answered }))).code).toBe(3);
  });

  it('given more differences than are answered, then the counts are whole and summed, and a line says so', async () => {
    const many = { ...differs, counts: { unrecorded: 5_000 }, truncated: true };
    const { document } = await audit((program) => anAudit(program, { last: many }));
    expect(document.counts).toEqual({ unrecorded: 10_000 });
    const { host } = await audit((program) => anAudit(program, { last: many }), ['-o', 'text']);
    expect(host.printed()).toContain('csi-provisioner of pod csi-provisioner-0 has compared the volumes');
    expect(host.printed()).toContain('There are more differences than it answers');
    expect(host.printed()).toContain('unrecorded: 10000');
    expect(host.printed()).not.toContain('--confirm');
  });

  it('given a leader that begins its first audit, then it is waited for, and one line says so', async () => {
    let questions = 0;
    const { code, host } = await audit(
      (program) => {
        questions += 1;
        return anAudit(program, questions < 4 ? { running: true, last: null } : {});
      },
      ['--kinds=volumes'],
    );
    expect([code, questions]).toEqual([0, 4]);
    expect(host.logged()).toBe('waiting for the first audit of csi-provisioner\n');
  });

  it('given an audit that does not end, then after --timeout it is not compared, and the exit code is 5', async () => {
    const { code, document } = await audit(
      (program) => anAudit(program, { running: true, last: null }),
      ['--kinds=volumes', '--timeout=20s'],
    );
    expect([code, document.notRun]).toEqual([
      5,
      [{ kind: 'volumes', because: 'the audit of csi-provisioner has not ended within --timeout' }],
    ]);
  });

  it('given programs without an audit, then they are not compared, and the exit code is 5', async () => {
    const { code, document } = await audit((program) => anAudit(program, { listed: null, last: null }));
    expect(code).toBe(5);
    expect(document.notRun[0]?.because).toBe('csi-provisioner makes no audit: the driver does not list volumes');
  });

  it('given one program that answers and one that does not, then what is not known decides: 5, unless the other one has found a difference', async () => {
    const half = (volumes: object) => (program: string) =>
      program === 'csi-provisioner' ? anAudit(program, { last: volumes }) : { status: 404 };
    expect((await audit(half(last), ['--kinds=volumes,snapshots'])).code).toBe(5);
    expect((await audit(half(differs), ['--kinds=volumes,snapshots'])).code).toBe(4);
  });

  it('given a list that is not whole, then the exit code is 5', async () => {
    const cut = { ...last, result: 'incomplete', reason: 'page 2 failed' };
    const { code, document } = await audit((program) => anAudit(program, { last: cut }));
    expect([code, document.complete, document.incomplete[0]]).toEqual([
      5,
      false,
      { kind: 'volumes', because: 'page 2 failed' },
    ]);
  });

  it('given a last audit that has failed, then the exit code is 1', async () => {
    const failed = { ...last, result: 'failed', reason: 'the driver is gone' };
    const { code, document } = await audit((program) => anAudit(program, { last: failed }));
    expect([code, document.error?.text]).toEqual([1, 'the last audit of csi-provisioner failed: the driver is gone']);
  });

  it('[explain#120] given the leader of another driver, then the exit code is 1', async () => {
    const { code, document } = await audit((program) => anAudit(program, { driver: 'b.example.com' }));
    expect([code, document.error?.text]).toEqual([1, `the driver is b.example.com, and not ${driver}`]);
  });
});

describe('whatever else answers', () => {
  it.each<readonly [string, Answers, string]>([
    ['[explain#79] given upstream programs', () => ({ status: 404 }), 'it answers 404'],
    ['[explain#81] given endpoints that refuse', () => ({ status: 403 }), 'it answers 403'],
    ['[explain#80] given HTML', () => ({ contentType: 'text/html' }), 'no JSON'],
    ['[explain#80] given another document', () => ({ kind: 'Audit' }), 'not that of csi-sidecars'],
    [
      '[explain#80] given a level that is none',
      (program) => anAudit(program, { last: { ...last, findings: [{ ...finding, level: 'fine' }] } }),
      'not that of csi-sidecars',
    ],
    [
      '[explain#80] given 1,001 findings',
      (program) => anAudit(program, { last: { ...last, findings: Array.from({ length: 1_001 }, () => finding) } }),
      'not that of csi-sidecars',
    ],
    [
      '[explain#80] given a time that is none',
      (program) => anAudit(program, { last: { ...last, endedAt: 'now' } }),
      'not that of csi-sidecars',
    ],
  ])('%s, then nothing is compared, a line for each says so, and the exit code is 5', async (_what, answers, line) => {
    const { code, document, host } = await audit(answers);
    expect([code, document.findings]).toEqual([5, []]);
    expect(document.notRun[0]).toEqual({ kind: 'volumes', because: 'no leader of csi-provisioner has answered' });
    const lines = host.logged().trimEnd().split('\n');
    expect([lines.length, lines.every((each) => each.includes(line))]).toEqual([2, true]);
  });

  it('given a standby, then nothing is compared', async () => {
    const { document } = await audit((program) => anAudit(program, { leading: false, listed: null, last: null }));
    expect(document.notRun[0]?.because).toBe('no leader of csi-provisioner has answered');
  });

  it('given a text with control characters in a finding, then none reaches the screen', async () => {
    const odd = { ...finding, handle: 'vol\u001b[2J', sentence: 'a\nb' };
    const answered = { ...last, counts: { unrecorded: 1 }, findings: [odd] };
    const { host } = await audit((program) => anAudit(program, { last: answered }), ['-o', 'text', '--kinds=volumes']);
    expect(host.printed()).toContain('vol?[2J');
    expect(['\u001b', 'a\nb'].filter((odd) => host.printed().includes(odd))).toEqual([]);
  });
});

describe('the command line', () => {
  it.each([
    [['--driver-list=x']],
    [['--driver-address=/csi/csi.sock']],
    [['--via=http://127.0.0.1:1']],
    [['--confirm=1']],
  ])('given --via-pod and %j, then the exit code is 2, and no leader is asked', async (args) => {
    const { code, asked } = await audit(() => ({}), args);
    expect([code, asked]).toEqual([2, []]);
  });

  it('given --via=URL, then each endpoint is asked for its audit', async () => {
    const host = clusterOf([csiDriver()]);
    const urls: string[] = [];
    const args = [`--driver=${driver}`, '--via=http://127.0.0.1:1,http://127.0.0.1:2', '-o', 'json', '--kinds=volumes'];
    const code = await ended(
      host,
      runAudit({
        host: { ...host, args },
        lifecycle: host.lifecycle,
        ask: async ({ href }) => {
          urls.push(href);
          return { status: 200, contentType: 'application/json', body: JSON.stringify(anAudit('csi-provisioner')) };
        },
      }),
    );
    expect([code, urls]).toEqual([0, ['http://127.0.0.1:1/debug/audit', 'http://127.0.0.1:2/debug/audit']]);
  });
});
