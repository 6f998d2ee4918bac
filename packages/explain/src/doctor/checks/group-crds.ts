// SPDX-License-Identifier: Apache-2.0
/** Part crd: the definitions of group snapshots, and the webhooks that objects of snapshots wait for. */
import { type Check, clusterCheck, factOf, type Judgement, problem } from '../check.ts';
import type { CrdFacts } from '../readings/facts.ts';
import { gateOf, isOn, running, type Sidecar } from '../readings/sidecars.ts';
import { groupVersionOf } from '../readings/versions.ts';
import { crdName, look } from './crds.ts';
import { calledBy, imageFact, yamlOf } from './wording.ts';

/** Upstream's programs have it off until it is asked for; ours use the kinds that are there. */
function usesGroups(sidecar: Sidecar): boolean {
  const gate = gateOf(sidecar, 'CSIVolumeGroupSnapshot');
  return gate ?? (sidecar.flavour === 'ours' || isOn(sidecar, 'enable-volume-group-snapshots'));
}

function servedBy({ versions = [] }: CrdFacts): readonly string[] {
  return versions.filter(({ isServed }) => isServed).map(({ name }) => name);
}

const groups: Check = clusterCheck({
  id: 'crd-3',
  severity: 'warn',
  wrong:
    'the definitions of group snapshots do not serve the version that a program asks for, or have objects of v1beta1 and no webhook that converts them',
  mend: 'install the definitions of the release of snapshot-controller; for v1beta1 its conversion webhook too',
  reads: ['crds', 'workloads'],
  judge: ({ crds, workloads }) => {
    const defined = crds.filter(({ of, versions }) => of === 'groups' && versions !== undefined);
    const places = running(workloads.all, 'csi-snapshotter', 'snapshot-controller').filter(({ sidecar }) =>
      usesGroups(sidecar),
    );
    const unserved = places.flatMap(({ workload, sidecar }): readonly Judgement[] => {
      const wanted = groupVersionOf(sidecar);
      const bad = wanted === undefined ? [] : defined.filter((crd) => !servedBy(crd).includes(wanted));
      const [first] = bad;
      if (first === undefined) return [];
      return [
        problem(
          `${sidecar.program} of ${calledBy(workload)} asks for ${wanted} of group snapshots, which is not served`,
          {
            driver: workloads.driverOf(workload),
            program: sidecar.program,
            objects: bad.map(crdName),
            evidence: [
              factOf(`CustomResourceDefinition ${first.name}`, 'versions that are served', servedBy(first).join(', ')),
              imageFact(workload, sidecar),
            ],
            look: look(first),
          },
        ),
      ];
    });
    const unconverted = defined.filter(
      (crd) =>
        crd.storedVersions.includes('v1beta1') &&
        crd.webhook === undefined &&
        servedBy(crd).some((name) => name !== 'v1beta1'),
    );
    const [first] = unconverted;
    if (first === undefined) return unserved;
    return [
      ...unserved,
      problem(`objects of ${first.name} may be stored as v1beta1, and no webhook converts them`, {
        objects: unconverted.map(crdName),
        evidence: [
          factOf(`CustomResourceDefinition ${first.name}`, 'status.storedVersions', first.storedVersions.join(', ')),
          factOf(`CustomResourceDefinition ${first.name}`, 'spec.conversion.webhook', undefined),
          factOf(`CustomResourceDefinition ${first.name}`, 'versions that are served', servedBy(first).join(', ')),
        ],
        look: look(first),
      }),
    ];
  },
});

const admission: Check = clusterCheck({
  id: 'crd-7',
  severity: 'error',
  wrong: 'a webhook that has to accept objects of snapshots has no endpoint: none of them can be stored',
  mend: 'run the webhook, or remove its configuration: snapshot-controller needs none from v8 on',
  reads: ['admission'],
  judge: ({ admission: webhooks }) =>
    webhooks
      .filter(({ failsClosed }) => failsClosed)
      .flatMap((webhook): readonly Judgement[] => {
        if (webhook.readyEndpoints === undefined)
          return webhook.missing.map((missing) => ({ kind: 'notKnown', missing }));
        if (webhook.readyEndpoints > 0) return [];
        const object = { kind: 'ValidatingWebhookConfiguration', name: webhook.configuration };
        const service = `Service ${webhook.namespace}/${webhook.service}`;
        return [
          problem(
            `no endpoint answers webhook ${webhook.webhook}: objects of ${webhook.groups.join(', ')} cannot be stored`,
            {
              objects: [object],
              evidence: [
                factOf(`${object.kind} ${object.name}`, `failurePolicy of ${webhook.webhook}`, 'Fail'),
                factOf(service, 'ready endpoints', 0),
              ],
              look: yamlOf(object),
            },
          ),
        ];
      }),
});

export const groupCrdChecks: readonly Check[] = [groups, admission];
