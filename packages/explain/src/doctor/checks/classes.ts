// SPDX-License-Identifier: Apache-2.0
/** Part class: StorageClasses, VolumeAttributesClasses, and the secrets that they name. */
import { toDriverParameters } from '@csi-sidecars/provisioner';
import type { StorageClass } from '@csi-sidecars/runtime';
import { annotationOf } from '../../facts/objects.ts';
import type { ObjectName } from '../../verdict.ts';
import { type Check, clusterCheck, driverCheck, factOf, type Judgement, problem, textOf } from '../check.ts';
import { namesOfDrivers } from '../readings/drivers.ts';
import { gateOf, running } from '../readings/sidecars.ts';
import { isLed } from './driver-objects.ts';
import { registered } from './topology.ts';
import { calledBy, yamlOf } from './wording.ts';
import type { ClassSecret, DriverFacts } from '../readings/facts.ts';

const defaultClass = 'storageclass.kubernetes.io/is-default-class';

export const className = ({ metadata }: StorageClass): ObjectName => ({
  kind: 'StorageClass',
  name: metadata?.name ?? '',
});

export const classesOf = (classes: readonly StorageClass[], { name }: DriverFacts): readonly StorageClass[] =>
  classes.filter(({ provisioner }) => provisioner === name);

const defaults: Check = clusterCheck({
  id: 'class-1',
  severity: 'warn',
  wrong: 'no StorageClass is the default, or several are: the newest one wins',
  mend: `set the annotation ${defaultClass} on one class`,
  reads: ['classes', 'claims'],
  judge: ({ classes, claims }) => {
    const marked = classes.filter((each) => annotationOf(each, defaultClass) === 'true');
    const [first, second] = marked;
    if (first !== undefined && second !== undefined) {
      return [
        problem(`${marked.length} classes are the default: the newest one wins`, {
          objects: marked.map(className),
          evidence: [
            factOf(textOf(className(first)), defaultClass, 'true'),
            factOf(textOf(className(second)), defaultClass, 'true'),
          ],
          look: ['kubectl', 'get', 'storageclasses'],
        }),
      ];
    }
    // A cluster may do without a default until somebody needs one.
    const waiting = claims.filter(({ className: name, phase }) => name === undefined && phase === 'Pending');
    const [claim] = waiting;
    if (first !== undefined || classes.length === 0) return [];
    return [
      problem(
        claim === undefined
          ? 'no class is the default'
          : `no class is the default, and ${waiting.length} claims name none`,
        {
          ...(claim === undefined && { severity: 'info' }),
          objects: waiting.map(({ namespace, name }) => ({ kind: 'PersistentVolumeClaim', namespace, name })),
          evidence: [
            factOf('StorageClasses', defaultClass, undefined),
            claim === undefined
              ? factOf('StorageClasses', 'count', classes.length)
              : factOf(`PersistentVolumeClaim ${claim.namespace}/${claim.name}`, 'spec.storageClassName', undefined),
          ],
          look: ['kubectl', 'get', 'storageclasses'],
        },
      ),
    ];
  },
});

const secretName = ({ classKind, className: name }: ClassSecret): ObjectName => ({ kind: classKind, name });

/** Of StorageClasses class-2 and class-3 report it, of snapshot classes snap-4. */
export function templateMistakes(
  driver: DriverFacts,
  secrets: readonly ClassSecret[],
  kind: ClassSecret['classKind'],
): readonly Judgement[] {
  return secrets
    .filter((secret) => secret.driver === driver.name && secret.classKind === kind)
    .flatMap((secret) => {
      if (secret.mistake === undefined) return [];
      const object = secretName(secret);
      return problem(`the ${secret.purpose} secret of ${textOf(object)} has no name: ${secret.mistake}`, {
        objects: [object],
        evidence: [
          factOf(textOf(object), 'parameters', secret.mistake),
          factOf(textOf(object), kind === 'StorageClass' ? 'provisioner' : 'driver', driver.name),
        ],
        look: yamlOf(object),
      });
    });
}

export function missingSecrets(
  driver: DriverFacts,
  secrets: readonly ClassSecret[],
  kind: ClassSecret['classKind'],
): readonly Judgement[] {
  return secrets
    .filter((secret) => secret.driver === driver.name && secret.classKind === kind)
    .flatMap((secret): readonly Judgement[] => {
      const { state, fixed } = secret;
      if (typeof state === 'object') return [{ kind: 'notKnown', missing: state }];
      if (state !== 'missing' || fixed === undefined) return [];
      const object = secretName(secret);
      return [
        problem(`secret ${fixed.namespace}/${fixed.name}, which ${textOf(object)} names, does not exist`, {
          objects: [{ kind: 'Secret', ...fixed }],
          evidence: [
            factOf(textOf(object), `${secret.purpose} secret`, `${fixed.namespace}/${fixed.name}`),
            factOf(`Secret ${fixed.namespace}/${fixed.name}`, 'metadata', 'absent'),
          ],
          look: yamlOf(object),
        }),
      ];
    });
}

const parameters: Check = driverCheck({
  id: 'class-2',
  severity: 'error',
  wrong:
    'the parameters of a class name a secret by half, have an unknown key of csi.storage.k8s.io, or an unknown variable',
  mend: 'make the class again',
  reads: ['classes', 'secrets'],
  judge: (driver, { classes, secrets }) => [
    ...classesOf(classes, driver).flatMap((each): readonly Judgement[] => {
      const stripped = toDriverParameters(each.parameters ?? {});
      if (stripped.kind === 'ok') return [];
      const object = className(each);
      return [
        problem(`class ${object.name}: ${stripped.message}`, {
          objects: [object],
          evidence: [
            factOf(textOf(object), 'parameters', Object.keys(each.parameters ?? {}).join(', ')),
            factOf(textOf(object), 'provisioner', driver.name),
          ],
          look: yamlOf(object),
        }),
      ];
    }),
    ...templateMistakes(driver, secrets, 'StorageClass'),
  ],
});

const absentSecrets: Check = driverCheck({
  id: 'class-3',
  severity: 'error',
  wrong: 'a class names a secret that does not exist',
  mend: 'create the secret',
  reads: ['secrets'],
  judge: (driver, { secrets }) => missingSecrets(driver, secrets, 'StorageClass'),
});

const growing: Check = driverCheck({
  id: 'class-4',
  severity: 'warn',
  wrong: 'a class allows volumes to grow, and no csi-resizer of its driver runs',
  mend: 'add csi-resizer, or set allowVolumeExpansion to false',
  reads: ['classes', 'workloads', 'leading'],
  judge: (driver, { classes, workloads, leading }) => {
    const own = classesOf(classes, driver).filter(({ allowVolumeExpansion }) => allowVolumeExpansion === true);
    const [first] = own;
    const [provisioner] = running(workloads.of(driver.name), 'csi-provisioner');
    const hasResizer =
      running(workloads.of(driver.name), 'csi-resizer').length > 0 || isLed(leading, driver, 'csi-resizer');
    // Where nothing of the driver's controllers is seen, they may run outside of the cluster.
    if (first === undefined || provisioner === undefined || hasResizer) return [];
    return [
      problem(`class ${first.metadata?.name} allows volumes of ${driver.name} to grow, and no csi-resizer of it runs`, {
        program: 'csi-resizer',
        objects: own.map(className),
        evidence: [
          factOf(textOf(className(first)), 'allowVolumeExpansion', true),
          factOf(calledBy(provisioner.workload), 'csi-resizer', undefined),
        ],
        look: yamlOf(className(first)),
      }),
    ];
  },
});

const immediate: Check = driverCheck({
  id: 'class-5',
  severity: 'warn',
  wrong: 'a class binds at once, and the volumes of its driver are reachable from some nodes only',
  mend: 'make the class again with WaitForFirstConsumer',
  reads: ['classes', 'registrations', 'nodes'],
  judge: (driver, { classes, registrations, nodes }) => {
    const on = registered(registrations, driver);
    const keys = [...new Set(on.flatMap((each) => each.keys))];
    const labels = new Map(nodes.map((node) => [node.name, node.labels]));
    const segments = new Set(on.map(({ node }) => keys.map((key) => labels.get(node)?.[key]).join('/')));
    // In one zone there is no wrong one.
    if (keys.length === 0 || segments.size < 2) return [];
    const own = classesOf(classes, driver).filter(
      ({ volumeBindingMode, allowedTopologies = [] }) =>
        volumeBindingMode === 'Immediate' && allowedTopologies.length === 0,
    );
    const [first] = own;
    if (first === undefined) return [];
    return [
      problem(`class ${first.metadata?.name} binds at once: volumes of ${driver.name} land where pods may not run`, {
        objects: own.map(className),
        evidence: [
          factOf(textOf(className(first)), 'volumeBindingMode', 'Immediate'),
          factOf('CSINodes', 'topologyKeys, and how many segments', `${keys.join(', ')}: ${segments.size}`),
        ],
        look: yamlOf(className(first)),
      }),
    ];
  },
});

const attributes: Check = clusterCheck({
  id: 'class-6',
  severity: 'warn',
  wrong:
    'a VolumeAttributesClass is of a driver that the cluster does not have, or csi-resizer of the driver has the gate off',
  mend: 'correct driverName, or turn the gate VolumeAttributesClass on',
  reads: ['attributesClasses', 'csiDrivers', 'registrations', 'workloads'],
  judge: ({ attributesClasses, csiDrivers, registrations, workloads }) => {
    const known = namesOfDrivers({ csiDrivers, registrations });
    return attributesClasses.flatMap(({ metadata, driverName }): readonly Judgement[] => {
      const object = { kind: 'VolumeAttributesClass', name: metadata?.name ?? '' };
      const facts = { driver: driverName, objects: [object], look: yamlOf(object) };
      const own = factOf(textOf(object), 'driverName', driverName);
      if (!known.has(driverName)) {
        return [
          problem(`VolumeAttributesClass ${object.name} is of ${driverName}, which is no driver of this cluster`, {
            ...facts,
            evidence: [own, factOf('CSIDrivers and CSINodes', driverName, 'none')],
          }),
        ];
      }
      const off = running(workloads.of(driverName), 'csi-resizer').find(
        ({ sidecar }) => gateOf(sidecar, 'VolumeAttributesClass') === false,
      );
      if (off === undefined) return [];
      return [
        problem(`VolumeAttributesClass ${object.name} has no effect: csi-resizer of ${driverName} has the gate off`, {
          ...facts,
          program: 'csi-resizer',
          evidence: [own, factOf(calledBy(off.workload), 'gate VolumeAttributesClass', false)],
        }),
      ];
    });
  },
});

const neverDeleted: Check = driverCheck({
  id: 'class-7',
  severity: 'info',
  wrong:
    'volumes of a class are to be deleted with their claims, other sidecars of its driver run, and no csi-provisioner',
  mend: 'run csi-provisioner, or make the class again with reclaimPolicy: Retain',
  causes: ['stuck-1'],
  reads: ['classes', 'workloads', 'leading'],
  judge: (driver, { classes, workloads, leading }) => {
    const own = classesOf(classes, driver).filter(({ reclaimPolicy = 'Delete' }) => reclaimPolicy === 'Delete');
    const [first] = own;
    const all = workloads.of(driver.name);
    // Where nothing of the driver's controllers is seen, they may run outside of the cluster.
    const [other] = running(all, 'csi-attacher', 'csi-resizer', 'csi-snapshotter');
    if (first === undefined || other === undefined) return [];
    if (running(all, 'csi-provisioner').length > 0 || isLed(leading, driver, 'csi-provisioner')) return [];
    return [
      problem(`class ${first.metadata?.name} says Delete, and no csi-provisioner of ${driver.name} runs`, {
        program: 'csi-provisioner',
        objects: own.map(className),
        evidence: [
          factOf(textOf(className(first)), 'reclaimPolicy', first.reclaimPolicy ?? 'Delete (by default)'),
          factOf(calledBy(other.workload), 'csi-provisioner', undefined),
        ],
        look: yamlOf(other.workload.object),
      }),
    ];
  },
});

export const classChecks: readonly Check[] = [
  defaults,
  parameters,
  absentSecrets,
  growing,
  immediate,
  attributes,
  neverDeleted,
];
