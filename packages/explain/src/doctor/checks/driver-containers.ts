// SPDX-License-Identifier: Apache-2.0
/** Part driver: the containers beside the driver, their sockets and their arguments. */
import { parseFlags, resolveGates } from '@csi-sidecars/sidecar';
import { isOfCluster, type Program } from '../../verdict.ts';
import { type Check, driverCheck, factOf, type Judgement, problem, textOf } from '../check.ts';
import { programFlags } from '../readings/arguments.ts';
import { driverContainers } from '../readings/drivers.ts';
import {
  flagOf,
  gateOf,
  hasLease,
  isAtLeast,
  running,
  type Sidecar,
  type WorkloadFacts,
} from '../readings/sidecars.ts';
import { isLed } from './driver-objects.ts';
import { calledBy, flagFact, imageFact, yamlOf } from './wording.ts';

const absent: Check = driverCheck({
  id: 'driver-10',
  severity: 'warn',
  wrong:
    'snapshot classes of the driver exist and no csi-snapshotter of it runs, or a class waits for the node and the gate Topology is off',
  mend: 'add the sidecar, or turn the gate on',
  reads: ['workloads', 'leading', 'snapshotClasses', 'classes', 'registrations'],
  judge: (driver, { workloads, leading, snapshotClasses, classes, registrations }) => {
    const provisioners = running(workloads.of(driver.name), 'csi-provisioner');
    const hasSnapshotter =
      running(workloads.of(driver.name), 'csi-snapshotter').length > 0 || isLed(leading, driver, 'csi-snapshotter');
    const found: Judgement[] = [];
    const [provisioner] = provisioners;
    const [snapshotClass] = snapshotClasses.filter((each) => each.driver === driver.name);
    // Where nothing of the driver's controllers is seen, they may run outside of the cluster.
    if (provisioner !== undefined && snapshotClass !== undefined && !hasSnapshotter) {
      const object = { kind: 'VolumeSnapshotClass', name: snapshotClass.metadata?.name ?? '' };
      found.push(
        problem(`VolumeSnapshotClass ${object.name} is of ${driver.name}, of which no csi-snapshotter runs`, {
          program: 'csi-snapshotter',
          objects: [object],
          evidence: [
            factOf(textOf(object), 'driver', driver.name),
            factOf(calledBy(provisioner.workload), 'csi-snapshotter', 'none'),
          ],
          look: yamlOf(provisioner.workload.object),
        }),
      );
    }
    const keys = registrations.flatMap(({ drivers }) =>
      drivers.filter(({ name }) => name === driver.name).flatMap((each) => each.keys),
    );
    const waiting = classes.filter(
      (each) => each.provisioner === driver.name && each.volumeBindingMode === 'WaitForFirstConsumer',
    );
    const off = provisioners.find(({ sidecar }) => gateOf(sidecar, 'Topology') === false);
    if (off !== undefined && keys.length > 0 && waiting.length > 0) {
      found.push(
        problem(
          `csi-provisioner of ${driver.name} has the gate Topology off, and the driver has topology: volumes land where pods may not run`,
          {
            program: 'csi-provisioner',
            objects: waiting.map(({ metadata }) => ({ kind: 'StorageClass', name: metadata?.name ?? '' })),
            evidence: [
              flagFact(off.workload, off.sidecar, 'feature-gates'),
              factOf('CSINodes', 'topologyKeys', [...new Set(keys)].join(', ')),
            ],
            look: yamlOf(off.workload.object),
          },
        ),
      );
    }
    return found;
  },
});

const defaultAddress = '/run/csi/socket';

const sockets: Check = driverCheck({
  id: 'driver-11',
  severity: 'error',
  wrong: 'the folder of --csi-address is not mounted, or no container of the driver mounts the same volume',
  mend: "mount the volume with the driver's socket, and point --csi-address to it",
  reads: ['workloads'],
  judge: (driver, { workloads }) =>
    workloads.of(driver.name).flatMap((workload) => {
      const seen = new Set<string>();
      return workload.sidecars.flatMap((sidecar) => {
        // A process of several programs has one socket.
        if (isOfCluster(sidecar.program) || seen.has(sidecar.container.name)) return [];
        seen.add(sidecar.container.name);
        return socketOf(workload, sidecar, workloads.of(driver.name));
      });
    }),
});

function socketOf(workload: WorkloadFacts, sidecar: Sidecar, all: readonly WorkloadFacts[]): readonly Judgement[] {
  const given = flagOf(sidecar, 'csi-address') ?? (sidecar.arguments.isWhole ? defaultAddress : '');
  const path = given.replace(/^unix:(\/\/)?/, '');
  // Another kind of address, or one that is not known.
  if (!path.startsWith('/') || path.includes('$(')) return [];
  const mount = mountOf(sidecar.container, path);
  const volume = workload.spec.volumes?.find(({ name }) => name === mount?.name);
  const what = `${sidecar.container.name} of ${calledBy(workload)}`;
  const facts = {
    program: sidecar.program,
    objects: [workload.object],
    look: yamlOf(workload.object),
  };
  const address = factOf(calledBy(workload), `--csi-address of container ${sidecar.container.name}`, given);
  if (mount === undefined || volume === undefined) {
    return [
      problem(`the socket ${path} of ${what} is in no volume`, {
        ...facts,
        evidence: [
          address,
          factOf(
            calledBy(workload),
            'volumeMounts',
            (sidecar.container.volumeMounts ?? []).map(({ mountPath }) => mountPath).join(', '),
          ),
        ],
      }),
    ];
  }
  const host = volume.hostPath?.path;
  const isShared =
    host === undefined
      ? driverContainers(workload).some(
          (container) => container.volumeMounts?.some(({ name }) => name === volume.name) === true,
        )
      : all.some((other) => mountsHost(other, host));
  // A driver of another workload, over something else than a folder of the node, is not known to be absent.
  if (isShared || (host === undefined && volume.emptyDir === undefined)) return [];
  return [
    problem(`no container of the driver mounts ${volume.name}, in which ${what} expects the socket ${path}`, {
      ...facts,
      evidence: [address, factOf(calledBy(workload), `volume ${volume.name}`, host ?? 'emptyDir')],
    }),
  ];
}

function mountOf(container: Sidecar['container'], path: string): { readonly name: string } | undefined {
  return (container.volumeMounts ?? [])
    .filter(({ mountPath }) => path.startsWith(`${mountPath.replace(/\/$/, '')}/`))
    .toSorted((left, right) => right.mountPath.length - left.mountPath.length)[0];
}

/** The folder of the socket, or one above it. */
function mountsHost(workload: WorkloadFacts, path: string): boolean {
  const wanted = `${path.replace(/\/$/, '')}/`;
  return driverContainers(workload).some((container) =>
    container.volumeMounts?.some(({ name }) => {
      const host = workload.spec.volumes?.find((volume) => volume.name === name)?.hostPath?.path;
      return host !== undefined && wanted.startsWith(`${host.replace(/\/$/, '')}/`);
    }),
  );
}

/** Gates that a release has removed: upstream's program does not start with them. */
const removedGates: readonly {
  readonly program: Program;
  readonly gate: string;
  readonly from: readonly [number, number];
}[] = [{ program: 'csi-resizer', gate: 'RecoverVolumeExpansionFailure', from: [2, 3] }];

const unknownArguments: Check = driverCheck({
  id: 'driver-12',
  severity: 'warn',
  wrong: 'a sidecar has a flag or a gate that its release does not know',
  mend: 'remove it',
  reads: ['workloads'],
  judge: (driver, { workloads }) =>
    workloads
      .of(driver.name)
      .flatMap((workload) => workload.sidecars.flatMap((sidecar) => argumentsOf(workload, sidecar))),
});

function argumentsOf(workload: WorkloadFacts, sidecar: Sidecar): readonly Judgement[] {
  const { program, flavour, container, version } = sidecar;
  const facts = { program, objects: [workload.object], look: yamlOf(workload.object) };
  const removed = removedGates.filter(
    ({ program: of, gate, from }) =>
      of === program && gateOf(sidecar, gate) !== undefined && (flavour === 'ours' || isAtLeast(version, ...from)),
  );
  const ofGates = removed.map(({ gate, from }) =>
    problem(
      flavour === 'ours'
        ? `${program} of ${calledBy(workload)} has the gate ${gate}, which has no effect`
        : `${program} of ${calledBy(workload)} has the gate ${gate}, which was removed in v${from.join('.')}`,
      {
        ...facts,
        ...(flavour === 'ours' && { severity: 'info' }),
        evidence: [flagFact(workload, sidecar, 'feature-gates'), imageFact(workload, sidecar)],
      },
    ),
  );
  // Upstream's earlier releases have flags that are gone by now, so an unknown flag says nothing of them.
  if (flavour !== 'ours' || sidecar.isCombined || !hasLease(sidecar)) return ofGates;
  const { flags, syntax, gates } = programFlags[sidecar.program];
  const parsed = parseFlags<{ readonly 'feature-gates'?: Readonly<Record<string, boolean>> }>(
    flags,
    syntax,
    sidecar.arguments.words,
  );
  const mistake =
    parsed.kind === 'invalid'
      ? parsed.message
      : parsed.kind === 'parsed' && removed.length === 0
        ? mistakeOf(resolveGates(gates, parsed.values['feature-gates'] ?? {}))
        : undefined;
  if (mistake === undefined) return ofGates;
  return [
    ...ofGates,
    problem(`${program} of ${calledBy(workload)} does not start with its arguments: ${mistake}`, {
      ...facts,
      evidence: [
        factOf(calledBy(workload), `arguments of container ${container.name}`, sidecar.arguments.words.join(' ')),
        imageFact(workload, sidecar),
      ],
    }),
  ];
}

function mistakeOf(gates: ReturnType<typeof resolveGates>): string | undefined {
  return gates.kind === 'invalid' ? gates.message : undefined;
}

export const containerChecks: readonly Check[] = [absent, sockets, unknownArguments];
