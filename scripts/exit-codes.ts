// SPDX-License-Identifier: Apache-2.0
/**
 * Sends signals to the built programs in the states that docs/behaviour/common.md lists under "Exit codes after signals", and compares
 * their exit codes with that table. The driver and the API server are real servers of this process, with nothing behind them.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { type Handlers, serveCsi } from '@csi-sidecars/csi/testing';
import { populatorType } from '@csi-sidecars/data-source-validator/testing';
import { systemClock, systemRandom } from '@csi-sidecars/runtime';
import { createFakeApiServer, createTestAuthority, freePort, serveOverHttp } from '@csi-sidecars/runtime/testing';
import type { ProgramManifest } from '@csi-sidecars/sidecar';
import { groupSnapshotTypes, snapshotTypes } from '@csi-sidecars/volume/testing';

export interface BuiltProgram {
  readonly manifest: ProgramManifest;
  readonly path: string;
}

const driverName = 'test.csi.example.com';
const capabilities = [
  'CREATE_DELETE_VOLUME',
  'PUBLISH_UNPUBLISH_VOLUME',
  'EXPAND_VOLUME',
  'CREATE_DELETE_SNAPSHOT',
  'GET_VOLUME_HEALTH',
];
const driver: Handlers = {
  '/csi.v1.Identity/Probe': () => ({ ready: { value: true } }),
  '/csi.v1.Identity/GetPluginInfo': () => ({ name: driverName }),
  '/csi.v1.Identity/GetPluginCapabilities': () => ({
    capabilities: [{ service: { type: 'CONTROLLER_SERVICE' } }, { service: { type: 'SNAPSHOT_METADATA_SERVICE' } }],
  }),
  '/csi.v1.Controller/ControllerGetCapabilities': () =>
    ({ capabilities: capabilities.map((type) => ({ rpc: { type } })) }) as never,
  '/csi.v1.GroupController/GroupControllerGetCapabilities': () => ({ capabilities: [] }),
};

/** Sends the signal while the program is being loaded: at its first own `require` of a module that its first line does not use. */
const sendsWhileLoading = (signal: Signal): string => `
  const Module = require('node:module');
  const load = Module._load;
  Module._load = function (request, ...rest) {
    if (!['node:url', 'node:v8', 'url', 'v8'].includes(request) && rest[0]?.filename === process.argv[1]) {
      Module._load = load;
      process.kill(process.pid, '${signal}');
    }
    return load.call(this, request, ...rest);
  };`;

type Signal = 'SIGTERM' | 'SIGINT';
const signals: readonly Signal[] = ['SIGTERM', 'SIGINT'];
const atOnce: Readonly<Record<Signal, number>> = { SIGTERM: 143, SIGINT: 130 };
const inOrder: Readonly<Record<Signal, number>> = { SIGTERM: 0, SIGINT: 0 };

interface State {
  readonly name: string;
  /** The signal is sent once a line of the log contains it. Undefined: while the program is being loaded. */
  readonly line: string | undefined;
  /** Default: there is nothing at their addresses. */
  readonly peers?: 'serving';
  readonly lease?: 'held by another';
  readonly args?: readonly string[];
  readonly codes: Readonly<Record<Signal, number>>;
}

function statesOf({ name, kind }: ProgramManifest): readonly State[] {
  const loading: State = { name: 'while it is being loaded', line: undefined, codes: atOnce };
  if (name === 'snapshot-conversion-webhook') return [loading, { name: 'at work', line: 'Listening', codes: atOnce }];
  if (name === 'csi-snapshot-metadata') {
    return [
      loading,
      { name: 'before its driver', line: '"Version"', codes: atOnce },
      { name: 'at work', line: 'Setting status to SERVING', peers: 'serving', codes: inOrder },
    ];
  }
  if (name === 'livenessprobe') {
    return [
      loading,
      { name: 'before its driver', line: '"', codes: atOnce },
      { name: 'at work', line: 'ServeMux listening', peers: 'serving', codes: atOnce },
    ];
  }
  if (kind === 'node') {
    const started = 'Registration Server started';
    return [
      loading,
      { name: 'before its driver', line: '"', codes: atOnce },
      { name: 'at work', line: started, peers: 'serving', codes: inOrder },
    ];
  }
  const isCombined = kind === 'combined';
  // It asks for nothing before it works, so there is no time in which a signal ends it at once.
  const waitsForPeers = name !== 'volume-data-source-validator';
  const early = isCombined ? inOrder : atOnce;
  const election = ['--leader-election', '--leader-election-namespace=ns'];
  const working: State = { name: 'at work', line: 'Caches are synced', peers: 'serving', codes: inOrder };
  const gateOff = '--feature-gates=ReleaseLeaderElectionOnExit=false';
  return [
    { ...loading, codes: early },
    ...(waitsForPeers
      ? [{ name: 'before its peers', line: isCombined ? '"Controllers"' : '"Version"', codes: early }]
      : []),
    working,
    { ...working, name: 'as a leader', args: election },
    {
      name: 'as a standby',
      line: 'Attempting to acquire leader lease',
      peers: 'serving',
      lease: 'held by another',
      args: election,
      codes: inOrder,
    },
    {
      ...working,
      name: 'as a leader with ReleaseLeaderElectionOnExit=false',
      args: [...election, gateOff],
      codes: isCombined ? inOrder : atOnce,
    },
  ];
}

/** What was found instead of the codes of the table; undefined if they are as they should be. */
export async function wrongExitCodes(program: BuiltProgram): Promise<string | undefined> {
  const wrong: string[] = [];
  for (const state of statesOf(program.manifest)) {
    const found = await Promise.all(signals.map((signal) => codeOf(program, state, signal)));
    signals.forEach((signal, at) => {
      if (found[at] !== String(state.codes[signal])) wrong.push(`${state.name}, ${signal}: ${found[at]}`);
    });
  }
  return wrong.length === 0 ? undefined : wrong.join('; ');
}

const patienceMs = 20_000;

async function codeOf({ manifest, path }: BuiltProgram, state: State, signal: Signal): Promise<string> {
  await using stack = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'exit-codes-'));
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  const args = [...(await argsFor(manifest, { state, folder, stack })), ...(state.args ?? [])];
  const preload = join(folder, 'preload.cjs');
  writeFileSync(preload, state.line === undefined ? sendsWhileLoading(signal) : '');
  const [, ...command] = manifest.commandLine.split(' ');
  const child = spawn(process.execPath, ['--require', preload, path, ...command, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}` },
  });
  const timeout = setTimeout(() => child.kill('SIGKILL'), patienceMs);
  let log = '';
  let isSent = false;
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
    if (state.line === undefined || isSent || !log.includes(state.line)) return;
    isSent = true;
    child.kill(signal);
  });
  const [code, endedBy] = (await once(child, 'close')) as [number | null, string | null];
  clearTimeout(timeout);
  const error = /^E.*$/m.exec(log)?.[0];
  if (code === 0 && error !== undefined && state.peers === 'serving') return `0 with an error in the log: ${error}`;
  return code === state.codes[signal] ? String(code) : `${code ?? endedBy}, log: ${log.slice(-400)}`;
}

interface Setting {
  readonly state: State;
  readonly folder: string;
  readonly stack: AsyncDisposableStack;
}

async function argsFor(manifest: ProgramManifest, { state, folder, stack }: Setting): Promise<readonly string[]> {
  const has = (flag: string): boolean => Object.hasOwn(manifest.flags.flags, flag);
  const isServing = state.peers === 'serving';
  const args: string[] = [];
  if (has('csi-address')) {
    const socket = isServing ? stack.use(await serveCsi(driver)).path : join(folder, 'csi.sock');
    args.push(`--csi-address=${socket}`);
  }
  if (has('kubeconfig')) {
    const server = isServing ? stack.use(await serveApi(state)).url : 'http://127.0.0.1:1';
    const kubeconfig = join(folder, 'kubeconfig');
    writeFileSync(kubeconfig, JSON.stringify(kubeconfigFor(server)));
    args.push(`--kubeconfig=${kubeconfig}`);
  }
  if (has('controllers')) args.push('--controllers=attacher');
  if (has('kubelet-registration-path')) args.push('--kubelet-registration-path=/csi.sock');
  if (has('plugin-registration-path')) args.push(`--plugin-registration-path=${folder}`);
  // Two processes run side by side here, and each needs a port of its own.
  if (has('health-port') && !has('controllers')) args.push('--health-port=0');
  if (has('livenessprobe-health-port')) args.push('--livenessprobe-health-port=0');
  if (has('tls-cert')) {
    const { cert, key } = createTestAuthority().issue({ commonName: 'metadata', hosts: ['127.0.0.1'] });
    writeFileSync(join(folder, 'cert'), cert);
    writeFileSync(join(folder, 'key'), key);
    args.push(`--tls-cert=${join(folder, 'cert')}`, `--tls-key=${join(folder, 'key')}`);
    args.push(`--port=${await freePort()}`, '--http-endpoint=127.0.0.1:0');
  }
  if (has('tls-cert-file')) {
    const { cert, key } = createTestAuthority().issue({ commonName: 'webhook', hosts: ['127.0.0.1'] });
    writeFileSync(join(folder, 'cert'), cert);
    writeFileSync(join(folder, 'key'), key);
    args.push(`--tls-cert-file=${join(folder, 'cert')}`, `--tls-private-key-file=${join(folder, 'key')}`, '--port=0');
  }
  return args;
}

function serveApi({ lease }: State): ReturnType<typeof serveOverHttp> {
  const server = createFakeApiServer({
    clock: systemClock(),
    random: systemRandom(),
    types: [...snapshotTypes, ...groupSnapshotTypes, populatorType],
  });
  if (lease !== undefined) {
    for (const name of leaseNames) {
      server.seed({
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { namespace: 'ns', name },
        spec: { holderIdentity: 'another', leaseDurationSeconds: 600 },
      });
    }
  }
  return serveOverHttp(server.transport, { port: 0 });
}

const leaseNames = [
  'external-attacher-leader-test-csi-example-com',
  'test-csi-example-com',
  'external-resizer-test-csi-example-com',
  'external-health-monitor-leader-test-csi-example-com',
  'external-snapshotter-leader-test-csi-example-com',
  'snapshot-controller-leader',
  'data-source-validator-leader',
];

function kubeconfigFor(server: string): object {
  return {
    'current-context': 'here',
    contexts: [{ name: 'here', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server } }],
    users: [{ name: 'u', user: {} }],
  };
}
