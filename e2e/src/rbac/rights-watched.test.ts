// SPDX-License-Identifier: Apache-2.0
/**
 * The conditions of the rules are those of the programs: what a program watches is what it says that it has to watch. The account may do
 * everything, but the API server shows it no rules, so the program reports all rights that it needs.
 */
import { attacherSidecar } from '@csi-sidecars/attacher';
import type { Handlers } from '@csi-sidecars/csi/testing';
import { runDataSourceValidator } from '@csi-sidecars/data-source-validator';
import { populatorType } from '@csi-sidecars/data-source-validator/testing';
import { provisionerSidecar } from '@csi-sidecars/provisioner';
import { resizerSidecar } from '@csi-sidecars/resizer';
import type { Transport } from '@csi-sidecars/runtime';
import { settle, until } from '@csi-sidecars/runtime/testing';
import { type ProgramDeps, runSidecarProgram } from '@csi-sidecars/sidecar';
import { type DrivenProgram, runOverDriver } from '@csi-sidecars/sidecar/testing';
import { runSnapshotController } from '@csi-sidecars/snapshot-controller';
import { snapshotterSidecar } from '@csi-sidecars/snapshotter';
import { groupSnapshotTypes, snapshotTypes } from '@csi-sidecars/volume/testing';
import { expect, it } from 'vitest';

const programs = {
  'csi-provisioner': (deps: ProgramDeps) => runSidecarProgram(deps, provisionerSidecar),
  'csi-attacher': (deps: ProgramDeps) => runSidecarProgram(deps, attacherSidecar),
  'csi-resizer': (deps: ProgramDeps) => runSidecarProgram(deps, resizerSidecar),
  'csi-snapshotter': (deps: ProgramDeps) => runSidecarProgram(deps, snapshotterSidecar),
  // It has no driver.
  'snapshot-controller': (deps: ProgramDeps) =>
    runSnapshotController({ ...deps, host: { ...deps.host, args: deps.host.args.slice(1) } }),
  'volume-data-source-validator': (deps: ProgramDeps) =>
    runDataSourceValidator({ ...deps, host: { ...deps.host, args: deps.host.args.slice(1) } }),
} as const;

interface Case {
  readonly program: keyof typeof programs;
  readonly can: readonly string[];
  readonly args?: readonly string[];
  /** Default: the driver has no topology. */
  readonly topology?: true;
  /** Default: the cluster has those of snapshots and of groups. */
  readonly kinds?: 'none' | 'snapshots';
}

const everything = [
  'CREATE_DELETE_VOLUME',
  'CREATE_DELETE_SNAPSHOT',
  'CLONE_VOLUME',
  'PUBLISH_UNPUBLISH_VOLUME',
  'LIST_VOLUMES',
  'LIST_VOLUMES_PUBLISHED_NODES',
  'EXPAND_VOLUME',
  'MODIFY_VOLUME',
  'GET_CAPACITY',
];
const without = (...types: readonly string[]): readonly string[] => everything.filter((type) => !types.includes(type));
const capacity = ['--enable-capacity', '--capacity-ownerref-level=-1'];
const onNode = ['--node-deployment'];

const cases: readonly Case[] = [
  { program: 'csi-provisioner', can: everything, topology: true },
  { program: 'csi-provisioner', can: everything, topology: true, args: ['--feature-gates=Topology=false'] },
  { program: 'csi-provisioner', can: everything, args: ['--feature-gates=CrossNamespaceVolumeDataSource=true'] },
  { program: 'csi-provisioner', can: without('CREATE_DELETE_SNAPSHOT', 'PUBLISH_UNPUBLISH_VOLUME') },
  { program: 'csi-provisioner', can: everything, args: ['--snapshot-orphan-sweep-interval=0'] },
  { program: 'csi-provisioner', can: everything, kinds: 'none' },
  { program: 'csi-provisioner', can: everything, args: capacity },
  { program: 'csi-provisioner', can: everything, topology: true, args: onNode },
  { program: 'csi-provisioner', can: everything, topology: true, args: [...onNode, ...capacity] },
  { program: 'csi-attacher', can: everything },
  { program: 'csi-attacher', can: without('PUBLISH_UNPUBLISH_VOLUME') },
  { program: 'csi-attacher', can: without('LIST_VOLUMES') },
  { program: 'csi-resizer', can: everything },
  { program: 'csi-resizer', can: everything, args: ['--handle-volume-inuse-error=false'] },
  { program: 'csi-resizer', can: without('MODIFY_VOLUME') },
  { program: 'csi-resizer', can: without('EXPAND_VOLUME') },
  { program: 'csi-resizer', can: everything, args: ['--feature-gates=VolumeAttributesClass=false'] },
  { program: 'csi-snapshotter', can: everything },
  { program: 'csi-snapshotter', can: everything, kinds: 'snapshots' },
  { program: 'csi-snapshotter', can: everything, args: ['--feature-gates=CSIVolumeGroupSnapshot=false'] },
  { program: 'snapshot-controller', can: [] },
  { program: 'snapshot-controller', can: [], args: ['--enable-distributed-snapshotting'] },
  { program: 'snapshot-controller', can: [], args: ['--enable-data-source-validator'] },
  { program: 'volume-data-source-validator', can: [] },
  { program: 'snapshot-controller', can: [], args: ['--feature-gates=CSIVolumeGroupSnapshot=false'] },
];

function handlersOf({ can, topology }: Case): Handlers {
  const types = ['CONTROLLER_SERVICE', ...(topology ? ['VOLUME_ACCESSIBILITY_CONSTRAINTS'] : [])];
  const services = { capabilities: types.map((type) => ({ service: { type } })) };
  return {
    '/csi.v1.Identity/Probe': () => ({ ready: { value: true } }),
    '/csi.v1.Identity/GetPluginInfo': () => ({ name: 'd.example.com' }),
    '/csi.v1.Identity/GetPluginCapabilities': () => services as never,
    '/csi.v1.Controller/ControllerGetCapabilities': () =>
      ({ capabilities: can.map((type) => ({ rpc: { type } })) }) as never,
    '/csi.v1.Node/NodeGetCapabilities': () => ({ capabilities: [] }),
    '/csi.v1.Node/NodeGetInfo': () => ({ node_id: 'n', accessible_topology: { segments: { zone: 'a' } } }),
    '/csi.v1.Controller/ListVolumes': () => ({ entries: [] }),
    '/csi.v1.Controller/GetCapacity': () => ({ available_capacity: '1' }),
  };
}

const typesOf = ({ kinds }: Case) => {
  if (kinds === 'none') return [];
  return kinds === 'snapshots' ? snapshotTypes : [...snapshotTypes, ...groupSnapshotTypes];
};

/** The API server grants everything and shows nothing. */
const showingNothing =
  (transport: Transport): Transport =>
  async (request) => {
    if (!request.path.endsWith('selfsubjectrulesreviews')) return transport(request);
    const body = JSON.stringify({ kind: 'SelfSubjectRulesReview', status: { resourceRules: [], incomplete: false } });
    const bytes = (async function* () {
      yield Buffer.from(body);
    })();
    return { status: 201, headers: { 'content-type': 'application/json' }, body: bytes };
  };

function reportedWatches({ host }: DrivenProgram): readonly string[] {
  const found = host.logged().matchAll(/Missing right: ([a-z, ]+) ([a-z0-9./]+) \(/g);
  return [...found].flatMap(([, verbs = '', resource = '']) => (verbs.includes('watch') ? [resource] : [])).toSorted();
}

function watched({ host }: DrivenProgram): readonly string[] {
  const found = host.server.requests
    .filter(({ verb }) => verb === 'watch')
    .map(({ resource, group }) => (group === '' ? resource : `${resource}.${group}`));
  return [...new Set(found)].toSorted();
}

const grants = {
  plural: 'referencegrants',
  group: 'gateway.networking.k8s.io',
  version: 'v1beta1',
  namespaced: true,
  status: 'absent',
} as const;

it.each(cases)(
  'given $program $args with a driver that can $can (topology: $topology, kinds: $kinds), then it watches what it has to be permitted to watch',
  async (each) => {
    await using program = await runOverDriver(programs[each.program], {
      handlers: handlersOf(each),
      types: [...typesOf(each), populatorType, { ...grants, kind: 'ReferenceGrant' }],
      args: each.args ?? [],
      env: { NAMESPACE: 'csi', POD_NAME: 'pod', NODE_NAME: 'n' },
      intercept: showingNothing,
    });
    await until(
      () => reportedWatches(program).length > 0 && watched(program).length >= reportedWatches(program).length,
    );
    for (let turn = 0; turn < 20; turn += 1) await settle();
    expect(watched(program)).toEqual(reportedWatches(program));
  },
);
