// SPDX-License-Identifier: Apache-2.0
/** What the program asks the driver and the API server before it leads, and what it concludes from the answers. */
import { type AuditBoard, createAuditBoard, type CsiCallOptions } from '@csi-sidecars/csi';
import { ApiError, createInformerFactory, type InformerFactory } from '@csi-sidecars/runtime';
import { FakeClock, recordingLogger, recordingMetrics, seededRandom } from '@csi-sidecars/runtime/testing';
import { parseFlags } from '@csi-sidecars/sidecar';
import { expect, it } from 'vitest';
import { driverName } from '../testing/builders.ts';
import { snapshotterProgram } from './flags.ts';
import { snapshotterSidecar } from './program.ts';
import { clusterRules } from './rbac.ts';

interface Given {
  readonly gates?: { readonly CSIVolumeGroupSnapshot?: boolean; readonly VolumeSnapshotTopology?: boolean };
  readonly args?: readonly string[];
  /** By the method of a call, or the plural of a list. */
  readonly failing?: Readonly<Record<string, Error>>;
  /** What the controller and the group controller report. */
  readonly capabilities?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly auditBoard?: AuditBoard;
}

const supported = ['CREATE_DELETE_SNAPSHOT', 'CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT'];
const { signal } = new AbortController();
const options = { timeoutMs: 9_000, signal };

async function prepared({ gates, args = [], failing = {}, capabilities = supported, env = {}, auditBoard }: Given) {
  const asked: unknown[] = [];
  const log = recordingLogger();
  const answer = async (what: string, ...rest: readonly unknown[]): Promise<unknown> => {
    asked.push([what, ...rest]);
    await Promise.resolve();
    if (failing[what] !== undefined) throw failing[what];
    return { capabilities: capabilities.map((type) => ({ rpc: { type }, service: { type } })), items: [] };
  };
  const parsed = parseFlags(snapshotterProgram.flags, snapshotterProgram.syntax, ['--timeout=9s', ...args]);
  const context = {
    name: driverName,
    channel: {
      call: (method: string, _request: object, given: CsiCallOptions) => answer(method.split('/').at(-1)!, given),
    },
    client: { list: ({ plural }: { plural: string }, ...rest: unknown[]) => answer(plural, ...rest) },
    log,
    signal,
    host: { env },
    auditBoard,
    started: {
      values: parsed.kind === 'parsed' ? parsed.values : undefined,
      gates: { CSIVolumeGroupSnapshot: true, VolumeSnapshotTopology: false, ...gates },
    },
  } as never;
  const end = await snapshotterSidecar.prepare(context).catch((error: unknown) => ({ error }));
  return { asked, end, messages: log.messages() };
}

const single = ['ControllerGetCapabilities', options];
const plugin = ['GetPluginCapabilities', options];
const contents = ['volumegroupsnapshotcontents', { limit: 1 }, options];
const classes = ['volumegroupsnapshotclasses', { limit: 1 }, options];
const group = ['GroupControllerGetCapabilities', options];
const disabled = 'Warning: volume group snapshots are disabled until the next start, the resources cannot be listed';
const refusal = (status: number): Error =>
  new ApiError({ status, reason: status === 404 ? 'NotFound' : 'Forbidden', message: 'no' });
const withoutGroups = clusterRules.filter(({ apiGroups }) => !apiGroups.includes('groupsnapshot.storage.k8s.io'));

it.each<
  Given & {
    readonly given: string;
    readonly calls: readonly unknown[];
    readonly logged?: readonly string[];
    readonly needs?: 'no groups';
  }
>([
  { given: 'a driver and a cluster with groups', calls: [single, contents, classes, group] },
  { given: 'the gate of groups off', gates: { CSIVolumeGroupSnapshot: false }, calls: [single], needs: 'no groups' },
  {
    given: 'the gate of topologies',
    gates: { VolumeSnapshotTopology: true },
    calls: [single, plugin, contents, classes, group],
  },
  {
    given: 'a cluster without groups',
    failing: { volumegroupsnapshotclasses: refusal(404) },
    calls: [single, contents, classes],
    logged: [disabled],
    needs: 'no groups',
  },
  {
    given: 'no right to list groups, which is reported as missing',
    failing: { volumegroupsnapshotcontents: refusal(403) },
    calls: [single, contents],
    logged: [disabled],
  },
  {
    given: 'an API server that does not answer',
    failing: { volumegroupsnapshotcontents: new Error('no') },
    calls: [single, contents, group],
    logged: ['Failed to look for the volume group snapshot resources'],
  },
  {
    given: 'a driver without groups',
    capabilities: ['CREATE_DELETE_SNAPSHOT'],
    calls: [single, contents, classes, group],
    logged: ['Warning: the CSI driver does not support volume group snapshots'],
  },
  {
    given: 'a driver that does not answer about groups',
    failing: { GroupControllerGetCapabilities: new Error('no') },
    calls: [single, contents, classes, group],
    logged: ['Failed to get the capabilities of the CSI group controller'],
  },
])(
  'given $given, then no more than that is asked, and only the rights that it uses are needed',
  async ({ calls, logged = [], needs, ...given }) => {
    const { asked, end, messages } = await prepared(given);
    expect([asked, messages]).toEqual([calls, logged]);
    const ofSecrets = ({ resources }: { readonly resources: readonly string[] }): boolean =>
      resources.includes('secrets');
    const cluster = (needs === undefined ? clusterRules : withoutGroups).filter((rule) => !ofSecrets(rule));
    const capabilities = new Set(given.capabilities ?? supported);
    expect(end).toEqual({
      lockName: `external-snapshotter-leader-${driverName}`,
      driver: {
        name: driverName,
        controllerCapabilities: capabilities,
        pluginCapabilities: given.gates?.VolumeSnapshotTopology === true ? capabilities : new Set(),
      },
      // Whether a content names a secret is not known yet.
      rights: { cluster },
      assemble: expect.any(Function) as unknown,
    });
  },
);

it.each<Given & { readonly given: string; readonly message: string; readonly reason?: string; readonly code?: number }>(
  [
    {
      given: 'a driver without snapshots',
      capabilities: [],
      message: `CSI driver ${driverName} does not support ControllerCreateSnapshot`,
      reason: 'driver',
    },
    {
      given: 'a driver that does not answer',
      failing: { ControllerGetCapabilities: new Error('no') },
      message: 'Failed to get the capabilities of the CSI controller',
    },
    {
      given: 'a driver that does not answer about topologies',
      gates: { VolumeSnapshotTopology: true },
      failing: { GetPluginCapabilities: new Error('no') },
      message: 'Failed to get the capabilities of the CSI driver',
    },
    {
      given: 'a flag of groups that cannot be used',
      args: ['--groupsnapshot-name-prefix='],
      message: '--groupsnapshot-name-prefix cannot be empty',
      reason: 'commandLine',
    },
    {
      given: 'no name of the node',
      args: ['--node-deployment'],
      message: 'The NODE_NAME environment variable must be set when using --node-deployment',
      reason: 'commandLine',
      code: 255,
    },
  ],
)('given $given, then it ends with the line $message', async ({ message, reason, code = 1, ...given }) => {
  const { end } = await prepared(given);
  expect(end).toMatchObject({ error: { message, reason, code } });
});

/** What the loops watch, and the metrics that they register. */
async function assembled(
  given: Given,
): Promise<{ readonly watches: readonly string[]; readonly metrics: readonly string[] }> {
  const { end } = await prepared(given);
  if ('error' in end) throw end.error;
  const watches: string[] = [];
  const [clock, metrics] = [new FakeClock(), recordingMetrics()];
  const factory = createInformerFactory({
    client: {} as never,
    clock,
    random: seededRandom(1),
    logger: recordingLogger(),
  });
  const informer: InformerFactory['informer'] = (options) => {
    const { resource, labelSelector, resyncMs, transform } = options;
    const { plural } = resource;
    watches.push([`${plural}${transform?.id.split(driverName)[1]}`, labelSelector, resyncMs].filter(Boolean).join(' '));
    return factory.informer(options);
  };
  const ports = { client: {}, clock, metrics, informers: { ...factory, informer }, recorderOf: () => ({}) };
  end.assemble(ports as never);
  return { watches, metrics: metrics.names() };
}

const board = createAuditBoard({ clock: new FakeClock() });
const listing = [...supported, 'LIST_SNAPSHOTS'];
const topology = 'csi_sidecars_snapshot_topology_writes_dropped_total';
const passes = 'csi_sidecars_audit_passes_total';
const audited = { suffix: ', audited', audits: true };

interface Watched extends Given {
  readonly given: string;
  /** What is watched of contents, and of classes, beside their kind. */
  readonly suffix?: string;
  readonly classes?: string;
  readonly audits?: boolean;
  readonly metrics?: readonly string[];
}

it.each<Watched>([
  { given: 'the default flags', capabilities: listing },
  {
    given: 'an interval of audits',
    args: ['--audit-interval=10m'],
    capabilities: listing,
    ...audited,
    metrics: [passes],
  },
  { given: 'an interval of audits and a driver that does not list', args: ['--audit-interval=10m'] },
  { given: 'a place where an audit may be asked for', auditBoard: board, capabilities: listing, ...audited },
  {
    given: 'no groups and a place where an audit may be asked for',
    gates: { CSIVolumeGroupSnapshot: false },
    auditBoard: board,
    capabilities: listing,
    ...audited,
  },
  {
    given: 'the gate of topologies',
    gates: { VolumeSnapshotTopology: true },
    classes: ', with topologies',
    metrics: [topology],
  },
  {
    given: 'a node',
    args: ['--node-deployment'],
    env: { NODE_NAME: 'node-1' },
    suffix: ' snapshot.storage.kubernetes.io/managed-by=node-1',
  },
])('given $given, then it watches no more than it needs, and registers the metrics $metrics', async (row) => {
  const { suffix = '', classes = '', audits = false, metrics = [], ...given } = row;
  const kinds = given.gates?.CSIVolumeGroupSnapshot === false ? ['snapshot'] : ['snapshot', 'groupsnapshot'];
  const contents = kinds.map((kind) => `volume${kind}contents${suffix} 900000`);
  const watches = contents.flatMap((of, at) => [of, `volume${kinds[at]}classes${classes}`]);
  const found = await assembled(given);
  expect(found.watches).toEqual([...watches, ...(audits ? contents : [])]);
  expect([topology, passes].filter((name) => found.metrics.includes(name))).toEqual(metrics);
});
