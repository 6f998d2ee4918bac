// SPDX-License-Identifier: Apache-2.0
/** `--via-pod`: which pod is asked at which port, and that whatever fails costs one line and nothing of the answer. */
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  add,
  addWithEvent,
  ago,
  asked,
  attachment,
  claim,
  clusterOf,
  csiDriver,
  driver,
  explain,
  explainWith,
  lease,
  namespace,
  runWith,
  sidecarPod,
  storageClass,
} from '../../testing/cluster.ts';
import { aLoop, anAnswer } from '../../testing/leader-answer.ts';
import { runExplain } from '../command/program.ts';
import type { AskPod } from '../port-forward/pod-port.ts';
import type { HttpAnswer } from './http.ts';

const httpEndpoint = ['--http-endpoint=:8080'];

/** A claim that the driver has refused nine times: a person is needed. Its provisioner leads, with these arguments. */
function refusedClaim(args: readonly string[] = httpEndpoint) {
  const host = clusterOf([storageClass('gp'), csiDriver()]);
  addWithEvent(host, claim('data', { metadata: asked }), {
    reason: 'ProvisioningFailed',
    message: 'rpc error: code = InvalidArgument desc = pool p1 does not exist',
    firstAgo: 900,
    lastAgo: 14,
    count: 9,
  });
  add(
    host,
    lease(driver.replaceAll('.', '-'), { holder: 'csi-provisioner-0', renewed: ago(host, 3), seconds: 600 }),
    sidecarPod('csi-provisioner', {
      spec: {
        containers: [
          { name: 'other', image: 'registry.example.com/csi-attacher:v1', args: ['--http-endpoint=:1'] },
          {
            name: 'p',
            image: 'registry.example.com/csi-provisioner:v1',
            args,
            env: [{ name: 'PORT', value: '9090' }],
          },
        ],
      },
    }),
  );
  return host;
}

const call = ['pvc/data', '-n', namespace];
const viaPod = [...call, '--via-pod'];

function answering(document: unknown, fields: Partial<HttpAnswer> = {}) {
  const questions: string[] = [];
  const askPod: AskPod = async (target, path) => {
    questions.push(`${target.namespace}/${target.pod}:${target.port}${path}`);
    return { status: 200, contentType: 'application/json', body: JSON.stringify(document), ...fields };
  };
  return { askPod, questions };
}

const provisioner = { program: 'csi-provisioner' };

describe('the pod', () => {
  it.each([
    ['--http-endpoint=:8080', httpEndpoint, 8080],
    ['--http-endpoint 0.0.0.0:8081', ['--http-endpoint', '0.0.0.0:8081'], 8081],
    ['--metrics-address=[::]:8082', ['--v=5', '--metrics-address=[::]:8082'], 8082],
    ['a port in a variable', ['-http-endpoint=:$(PORT)'], 9090],
    ['the flag twice', ['--http-endpoint=:1', '--http-endpoint=:2'], 2],
  ])(
    '[explain#17] given %s, then the leader is asked there, and the decision is what it says',
    async (_what, args, port) => {
      const host = refusedClaim(args);
      const last = { row: 'C24', action: 'conclude', at: ago(host, 14), code: 'InvalidArgument', text: 'no pool' };
      const { askPod, questions } = answering(anAnswer([{ ...aLoop, last }], provisioner));
      const { code, document } = await explainWith(host, viaPod, { askPod });
      expect(questions).toEqual([`storage/csi-provisioner-0:${port}/debug/explain?kind=pvc&key=shop%2Fdata`]);
      expect([code, document.decision?.origin, document.decision?.row, host.logged()]).toEqual([4, 'told', 'C24', '']);
    },
  );

  const onNode = (name: string, nodeName: string) =>
    sidecarPod('csi-provisioner', {
      metadata: { name, namespace: 'storage' },
      spec: {
        nodeName,
        containers: [{ name: 'p', image: 'registry.example.com/csi-provisioner:v1', args: [`--http-endpoint=:80`] }],
      },
    });

  it.each([
    ['one pod that runs the program', [onNode('a', 'node-a')], ['storage/a:80']],
    ['the pod on the node of that name', [onNode('a', 'node-a'), onNode('b', 'node-b')], ['storage/b:80']],
    ['no pod', [], []],
    ['two pods on the node', [onNode('a', 'node-b'), onNode('b', 'node-b')], []],
  ])(
    'given a holder that is a node, and %s, then the only pod that it can be is asked',
    async (_what, stored, wanted) => {
      const host = refusedClaim();
      const held = () =>
        host.server.objects.seed(
          lease(driver.replaceAll('.', '-'), { holder: 'node-b', renewed: ago(host, 3), seconds: 60 }),
        );
      held();
      // A holder without a pod is looked at twice.
      host.clock.timer(2_000, held);
      host.server.objects.seed({ ...sidecarPod('csi-provisioner'), status: { phase: 'Failed' } });
      add(host, ...stored);
      const { askPod, questions } = answering(anAnswer([aLoop], provisioner));
      expect(await runWith(host, viaPod, { askPod })).toBe(4);
      expect(questions.map((question) => question.replace(/\/debug.*/, ''))).toEqual(wanted);
    },
  );

  it('given a program that does not act, then no pod is looked for', async () => {
    const host = clusterOf([storageClass('gp', { volumeBindingMode: 'WaitForFirstConsumer' }), csiDriver()]);
    add(host, claim('data'));
    const { askPod, questions } = answering({});
    await explainWith(host, viaPod, { askPod });
    expect([questions, host.logged()]).toEqual([[], '']);
  });

  it('given --via beside --via-pod, then the exit code is 2', async () => {
    expect(await runWith(refusedClaim(), [...viaPod, '--via=http://127.0.0.1:1'], {})).toBe(2);
  });
});

describe('whatever fails', () => {
  const silent: AskPod = () => new Promise(() => undefined);
  const failing =
    (message: string): AskPod =>
    async () => {
      throw new Error(message);
    };
  it.each<readonly [title: string, askPod: AskPod | undefined, line: string]>([
    [
      '[explain#78] given no right for pods/portforward',
      failing('you may not get and create pods/portforward in storage'),
      '--via-pod: storage/csi-provisioner-0:8080: you may not get and create pods/portforward in storage',
    ],
    ['[explain#78] given a connection that lets no port-forward through', undefined, 'lets no port-forward through'],
    ['[explain#78] given a pod that is silent', silent, 'deadline of 5000 ms exceeded'],
    ['[explain#79] given an upstream program', answering('', { status: 404 }).askPod, 'it answers 404'],
    ['[explain#80] given an endpoint that refuses', answering('', { status: 403 }).askPod, 'it answers 403'],
    ['[explain#80] given HTML', answering('', { contentType: 'text/html' }).askPod, 'no JSON'],
    [
      '[explain#80] given JSON with fields of a verdict',
      answering({ ...anAnswer([aLoop], provisioner), verdict: 'done', exitCode: 0 }).askPod,
      'not that of csi-sidecars',
    ],
    [
      'given the leader of another program',
      answering(anAnswer([aLoop])).askPod,
      '--via-pod: no endpoint is that of csi-provisioner',
    ],
  ])('%s, then one line says so, and answer and exit code are those from outside', async (_title, askPod, line) => {
    const host = refusedClaim();
    const { code, document } = await explainWith(host, viaPod, { askPod });
    const plain = await explain(refusedClaim(), call);
    const later = { at: null, cost: null };
    expect([code, { ...document, ...later }]).toEqual([plain.code, { ...plain.document, ...later }]);
    expect(plain.code).toBe(4);
    expect(host.logged().trimEnd().split('\n')).toEqual([expect.stringContaining(line)]);
  });

  it.each([
    ['no argument for an endpoint', [], 'has no --http-endpoint'],
    ['an endpoint without a port', ['--http-endpoint=here'], 'has no --http-endpoint'],
    ['a port that is none', ['--http-endpoint=:70000'], 'has no --http-endpoint'],
  ])('[explain#78] given %s, then one line says so, and no leader is asked', async (_what, args, line) => {
    const host = refusedClaim(args);
    const { askPod, questions } = answering({});
    const { code } = await explainWith(host, viaPod, { askPod });
    expect([code, questions]).toEqual([4, []]);
    expect(host.logged().trimEnd().split('\n')).toEqual([expect.stringContaining(line)]);
  });

  it('[explain#78] given an attachment whose attacher has no leader, then one line says so', async () => {
    const host = clusterOf([csiDriver()]);
    const name = `external-attacher-leader-${driver.replaceAll('.', '-')}`;
    add(host, attachment('csi-1', { metadata: { creationTimestamp: ago(host, 720) } }));
    add(host, lease(name, { holder: '', renewed: ago(host, 60) }));
    const { askPod, questions } = answering({});
    const { code } = await explainWith(host, ['va/csi-1', '--via-pod'], { askPod });
    expect([code, questions, host.logged()]).toEqual([4, [], '--via-pod: nobody leads csi-attacher\n']);
  });

  it('[explain#54] given a holder with control characters in its name, then none reaches the screen', async () => {
    const host = refusedClaim();
    const held = () =>
      host.server.objects.seed(
        lease(driver.replaceAll('.', '-'), { holder: 'x\u001b[2J\nNext    rm', renewed: ago(host, 3), seconds: 60 }),
      );
    held();
    host.clock.timer(2_000, held);
    host.server.objects.seed({ ...sidecarPod('csi-provisioner'), status: { phase: 'Failed' } });
    await runWith(host, viaPod, { askPod: answering({}).askPod });
    expect(host.logged()).toBe('--via-pod: the pod of x?[2J?Next    rm, which leads csi-provisioner, is not known\n');
  });

  it('given a watch, then a line that stays true is printed once', async () => {
    const host = refusedClaim();
    const { askPod, questions } = answering('', { status: 404 });
    await runWith(host, [...viaPod, '--watch', '--for=70s'], { askPod });
    expect(questions.length).toBeGreaterThan(1);
    expect(host.logged().split('it answers 404')).toHaveLength(2);
  });
});

it('[explain#78] given --as, then the port-forward is asked for as that user, and a refusal is one line', async () => {
  const upgrades: IncomingMessage['headers'][] = [];
  const server = createServer();
  server.on('upgrade', ({ headers }: IncomingMessage, socket: Duplex) => {
    upgrades.push(headers);
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const host = refusedClaim();
  const dial = async () => ({
    socket: connect(port, '127.0.0.1'),
    url: new URL(`http://127.0.0.1:${port}`),
    headers: { authorization: 'Bearer t' },
  });
  const connectApi: typeof host.connectApi = async (options) => ({ ...(await host.connectApi(options)), dial });
  const args = [...viaPod, '--as=jane', '--as-group=dev'];
  const ended = runExplain({
    host: { ...host, args, connectApi },
    lifecycle: host.lifecycle,
    terminal: { columns: 80 },
  });
  expect(await ended).toBe(4);
  expect(upgrades).toMatchObject([
    { authorization: 'Bearer t', 'impersonate-user': 'jane', 'impersonate-group': 'dev' },
  ]);
  expect(host.logged()).toBe(
    '--via-pod: storage/csi-provisioner-0:8080: you may not get and create pods/portforward in storage\n',
  );
});
