// SPDX-License-Identifier: Apache-2.0
/** Part crd: the definitions of the snapshot kinds, against the programs that need them. */
import { type Check, clusterCheck, factOf, type Judgement, problem } from '../check.ts';
import { type Running, running } from '../readings/sidecars.ts';
import { rivalsOf } from './rivals.ts';
import { authorityMistake, calledBy, imageFact, yamlOf } from './wording.ts';
import type { CrdFacts, Workloads } from '../readings/facts.ts';

export function crdName({ name }: CrdFacts): { readonly kind: string; readonly name: string } {
  return { kind: 'CustomResourceDefinition', name };
}

export function look({ name }: CrdFacts): readonly string[] | undefined {
  return yamlOf({ kind: 'customresourcedefinition', name });
}

function snapshotPrograms(workloads: Workloads): readonly Running[] {
  return running(workloads.all, 'csi-snapshotter', 'snapshot-controller');
}

const missing: Check = clusterCheck({
  id: 'crd-1',
  severity: 'error',
  wrong: 'csi-snapshotter or snapshot-controller runs, and a definition of snapshot.storage.k8s.io is missing',
  mend: 'install the definitions',
  reads: ['crds', 'workloads'],
  judge: ({ crds, workloads }) => {
    const absent = crds.filter(({ of, versions }) => of === 'snapshots' && versions === undefined);
    const [place] = snapshotPrograms(workloads);
    const [first] = absent;
    if (place === undefined || first === undefined) return [];
    return [
      problem(`${place.sidecar.program} runs, and ${absent.map(({ name }) => name).join(', ')} is not defined`, {
        program: place.sidecar.program,
        objects: absent.map(crdName),
        evidence: [factOf('CustomResourceDefinitions', first.name, 'absent'), imageFact(place.workload, place.sidecar)],
        look: ['kubectl', 'get', 'customresourcedefinitions'],
      }),
    ];
  },
});

const versions: Check = clusterCheck({
  id: 'crd-2',
  severity: 'error',
  wrong:
    'v1 of a snapshot kind is not served or not stored, or objects are stored in a version that is not served any more',
  mend: 'migrate the stored objects, then install the newer definitions',
  reads: ['crds'],
  judge: ({ crds }) =>
    crds.flatMap((crd): readonly Judgement[] => {
      if (crd.versions === undefined || crd.of !== 'snapshots') return [];
      const served = crd.versions.filter(({ isServed }) => isServed).map(({ name }) => name);
      const stored = crd.versions.find(({ isStorage }) => isStorage)?.name;
      const unserved = crd.storedVersions.filter((name) => !served.includes(name));
      if (served.includes('v1') && stored === 'v1' && unserved.length === 0) return [];
      const what =
        unserved.length > 0
          ? `objects of ${crd.name} may be stored as ${unserved.join(', ')}, which is not served`
          : `v1 of ${crd.name} is not served and stored`;
      return [
        problem(what, {
          objects: [crdName(crd)],
          evidence: [
            factOf(`CustomResourceDefinition ${crd.name}`, 'versions that are served', served.join(', ')),
            factOf(`CustomResourceDefinition ${crd.name}`, 'status.storedVersions', crd.storedVersions.join(', ')),
            factOf(`CustomResourceDefinition ${crd.name}`, 'version that is stored', stored),
          ],
          look: look(crd),
        }),
      ];
    }),
});

const controllers: Check = clusterCheck({
  id: 'crd-4',
  severity: 'error',
  wrong: 'two snapshot-controllers run that do not elect one leader among them',
  mend: 'remove one of them',
  reads: ['workloads'],
  judge: ({ workloads }) => rivalsOf(workloads, 'snapshot-controller'),
});

const conversion: Check = clusterCheck({
  id: 'crd-5',
  severity: 'error',
  wrong:
    'the conversion webhook of a snapshot kind has no endpoint, or its authority has expired, is missing, or expires within 14 days',
  mend: 'run the webhook; renew its certificate and caBundle',
  reads: ['crds'],
  judge: ({ crds }, { nowMs }) =>
    crds.flatMap((crd): readonly Judgement[] => {
      const { webhook, name } = crd;
      if (webhook === undefined) return [];
      const object = `CustomResourceDefinition ${name}`;
      const service = factOf(object, 'spec.conversion.webhook service', `${webhook.namespace}/${webhook.service}`);
      const facts = { objects: [crdName(crd)], look: look(crd) };
      const found: Judgement[] = webhook.missing.map((each) => ({ kind: 'notKnown', missing: each }));
      if (webhook.readyEndpoints === 0) {
        found.push(
          problem(`nobody answers the conversion webhook of ${name}`, {
            ...facts,
            evidence: [service, factOf(`Service ${webhook.namespace}/${webhook.service}`, 'ready endpoints', 0)],
          }),
        );
      }
      const mistake = authorityMistake(webhook.authority, nowMs);
      if (mistake === undefined) return found;
      const { state, severity } = mistake;
      found.push(
        problem(`the authority of the conversion webhook of ${name} ${state}`, {
          ...facts,
          severity,
          evidence: [service, factOf(object, 'spec.conversion.webhook caBundle', state)],
        }),
      );
      return found;
    }),
});

const generations: Check = clusterCheck({
  id: 'crd-6',
  severity: 'warn',
  wrong: 'snapshot-controller and csi-snapshotter differ by more than one major version',
  mend: 'bring both to the same version',
  reads: ['workloads'],
  judge: ({ workloads }) => {
    const all = snapshotPrograms(workloads).filter(({ sidecar }) => sidecar.flavour === 'upstream');
    const controller = all.find(({ sidecar }) => sidecar.program === 'snapshot-controller');
    const own = controller?.sidecar.version?.major;
    if (controller === undefined || own === undefined) return [];
    return all.flatMap((other): readonly Judgement[] => {
      const major = other.sidecar.version?.major;
      if (other.sidecar.program !== 'csi-snapshotter' || major === undefined || Math.abs(major - own) <= 1) return [];
      return [
        problem(`csi-snapshotter of ${calledBy(other.workload)} is of v${major}, and snapshot-controller of v${own}`, {
          program: 'csi-snapshotter',
          objects: [other.workload.object, controller.workload.object],
          evidence: [imageFact(other.workload, other.sidecar), imageFact(controller.workload, controller.sidecar)],
          look: yamlOf(other.workload.object),
        }),
      ];
    });
  },
});

export const crdChecks: readonly Check[] = [missing, versions, controllers, conversion, generations];
