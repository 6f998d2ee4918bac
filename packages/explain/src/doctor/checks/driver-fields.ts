// SPDX-License-Identifier: Apache-2.0
/** Parts driver and node: fields of the CSIDriver that a pod or kubelet needs and that the object does not have, or that classes do not fit. */
import type { CSIDriver, StorageClass } from '@csi-sidecars/runtime';
import { annotationOf } from '../../facts/objects.ts';
import { type Check, driverCheck, factOf, type Judgement, problem, type Problem, textOf } from '../check.ts';
import { flagOf, running } from '../readings/sidecars.ts';
import { isBelow, minorOf } from '../readings/versions.ts';
import { className, classesOf } from './classes.ts';
import { driverName } from './driver-objects.ts';
import { counted, flagFact, yamlOf } from './wording.ts';
import type { DriverFacts } from '../readings/facts.ts';

const recentMs = 3_600_000;

const inline: Check = driverCheck({
  id: 'driver-5',
  severity: 'warn',
  wrong: 'pods have inline volumes of the driver, and volumeLifecycleModes of the CSIDriver has no Ephemeral',
  mend: 'make the CSIDriver again with Ephemeral in volumeLifecycleModes, if the driver can do it',
  reads: ['csiDrivers', 'events'],
  judge: (driver, { events }, { nowMs }) => {
    const modes = driver.object?.spec.volumeLifecycleModes ?? ['Persistent'];
    const own = events.filter(
      ({ reason, text, lastMs }) =>
        reason === 'FailedMount' &&
        // The event of a longer name is not about this driver.
        `${text} `.includes(`not supported by driver ${driver.name} `) &&
        lastMs !== undefined &&
        nowMs - lastMs < recentMs,
    );
    const [first] = own;
    if (first === undefined || modes.includes('Ephemeral')) return [];
    return [
      problem(`${counted(own.length, 'pod')} with an inline volume of ${driver.name}, which takes none`, {
        objects: own.map(({ object }) => object),
        evidence: [
          factOf(`event of ${textOf(first.object)}`, 'message', first.text),
          driver.object === undefined
            ? factOf(textOf(driverName(driver)), 'metadata', 'absent')
            : factOf(textOf(driverName(driver)), 'spec.volumeLifecycleModes', modes.join(', ')),
        ],
        look: yamlOf(driverName(driver)),
      }),
    ];
  },
});

const typeKeys = ['csi.storage.k8s.io/fstype', 'fstype'];

function namesType({ parameters = {} }: StorageClass): boolean {
  return Object.entries(parameters).some(([key, value]) => value !== '' && typeKeys.includes(key.toLowerCase()));
}

const withoutType: Check = driverCheck({
  id: 'driver-6',
  severity: 'info',
  wrong:
    'fsGroupPolicy of the CSIDriver is ReadWriteOnceWithFSType, and volumes of a class have no file system type: fsGroup of pods is not applied',
  mend: 'set csi.storage.k8s.io/fstype in the class, or --default-fstype of csi-provisioner; for volumes of files, fsGroupPolicy',
  reads: ['csiDrivers', 'classes', 'workloads'],
  judge: (driver, { classes, workloads }) => {
    if (driver.object?.spec.fsGroupPolicy !== 'ReadWriteOnceWithFSType') return [];
    const provisioners = running(workloads.of(driver.name), 'csi-provisioner');
    const [place] = provisioners;
    const hasDefault = provisioners.some(
      ({ sidecar }) => !sidecar.arguments.isWhole || (flagOf(sidecar, 'default-fstype') ?? '') !== '',
    );
    const own = classesOf(classes, driver).filter((each) => !namesType(each));
    const [first] = own;
    if (place === undefined || first === undefined || hasDefault) return [];
    return [
      problem(
        `volumes of class ${first.metadata?.name} have no file system type: fsGroup of pods is not applied to them`,
        {
          program: 'csi-provisioner',
          objects: own.map(className),
          evidence: [
            factOf(textOf(driverName(driver)), 'spec.fsGroupPolicy', 'ReadWriteOnceWithFSType'),
            factOf(textOf(className(first)), 'parameters csi.storage.k8s.io/fstype', undefined),
            flagFact(place.workload, place.sidecar, 'default-fstype'),
          ],
          look: yamlOf(className(first)),
        },
      ),
    ];
  },
});

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

type Spec = Readonly<Record<string, unknown>>;

/** What the object was applied with; undefined: kubectl did not apply it, or the text is no object. */
function appliedSpec(object: CSIDriver): Spec | undefined {
  try {
    const { spec } = JSON.parse(annotationOf(object, lastApplied) ?? '{}') as { readonly spec?: unknown };
    return typeof spec === 'object' && spec !== null ? (spec as Spec) : undefined;
  } catch {
    return undefined;
  }
}

function isUsed(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== null && value !== false;
}

interface Field {
  readonly name: string;
  /** The first 1.x that keeps it without a gate. */
  readonly since: number;
}

/** An API server drops what it does not know, and kubectl remembers what it was given. */
function dropped(
  driver: DriverFacts,
  fields: readonly Field[],
  { version }: { readonly version: string | undefined },
): readonly Judgement[] {
  const { object } = driver;
  const applied = object && appliedSpec(object);
  if (object === undefined || applied === undefined) return [];
  const spec: Spec = { ...object.spec };
  return fields
    .filter(({ name }) => isUsed(applied[name]) && !isUsed(spec[name]))
    .map(({ name, since }): Problem => {
      const isTooOld = isBelow(minorOf(version), { major: 1, minor: since });
      const why = isTooOld ? `an API server below 1.${since} drops it` : 'it was removed, or its gate is off';
      return problem(`the CSIDriver ${driver.name} was applied with ${name}, and does not have it: ${why}`, {
        objects: [driverName(driver)],
        evidence: [
          factOf(textOf(driverName(driver)), `${name} of ${lastApplied}`, JSON.stringify(applied[name])),
          factOf(textOf(driverName(driver)), `spec.${name}`, undefined),
          factOf('API server', 'version', version),
        ],
        look: yamlOf(driverName(driver)),
      });
    });
}

const tokens: Check = driverCheck({
  id: 'driver-7',
  severity: 'warn',
  wrong:
    'the CSIDriver was applied with tokenRequests, requiresRepublish or serviceAccountTokenInSecrets, and the API server has not kept it',
  mend: 'upgrade Kubernetes, or install the version of the driver that is made for this one',
  reads: ['csiDrivers', 'version'],
  judge: (driver, { version }) =>
    dropped(
      driver,
      [
        { name: 'tokenRequests', since: 21 },
        { name: 'requiresRepublish', since: 21 },
        { name: 'serviceAccountTokenInSecrets', since: 35 },
      ],
      { version },
    ),
});

const seLinux: Check = driverCheck({
  id: 'node-8',
  severity: 'warn',
  wrong: 'the CSIDriver was applied with seLinuxMount, and the API server has not kept it: every file is relabelled',
  mend: 'upgrade Kubernetes, or take seLinuxMount out of the manifest',
  reads: ['csiDrivers', 'version'],
  judge: (driver, { version }) => dropped(driver, [{ name: 'seLinuxMount', since: 27 }], { version }),
});

export const driverFieldChecks: readonly Check[] = [inline, withoutType, tokens];
export const nodeFieldChecks: readonly Check[] = [seLinux];
