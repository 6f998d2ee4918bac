// SPDX-License-Identifier: Apache-2.0
/** Part rights: what a pod on every node may do, and with it an intruder in one of its containers. */
import type { Pod } from '@csi-sidecars/runtime';
import { nameOf } from '../../facts/objects.ts';
import { type Check, clusterCheck, factOf, type Judgement, problem, textOf } from '../check.ts';
import type { Bound } from '../readings/facts.ts';
import { podsOf } from '../readings/workloads.ts';
import { calledBy, yamlOf } from './wording.ts';

/** Objects that only controllers write. */
const ofControllers: Readonly<Record<string, readonly string[]>> = {
  '': ['persistentvolumes', 'persistentvolumeclaims', 'persistentvolumeclaims/status'],
  'storage.k8s.io': ['volumeattachments', 'volumeattachments/status', 'csistoragecapacities'],
  'snapshot.storage.k8s.io': ['volumesnapshotcontents', 'volumesnapshotcontents/status'],
};
const writing = ['create', 'update', 'patch', 'delete', 'deletecollection', '*'];

function texts(list: unknown): readonly string[] {
  return Array.isArray(list) ? list.filter((each) => typeof each === 'string') : [];
}

/** `patch persistentvolumes`; undefined: the rule is none of a controller. */
function excessOf(rule: unknown): string | undefined {
  const { verbs, resources, apiGroups, resourceNames } = (rule ?? {}) as Readonly<Record<string, unknown>>;
  if (texts(resourceNames).length > 0) return undefined;
  const verb = texts(verbs).find((each) => writing.includes(each));
  const groups = texts(apiGroups);
  const resource = Object.entries(ofControllers)
    .filter(([group]) => groups.includes(group) || groups.includes('*'))
    .flatMap(([, names]) => names)
    .find((name) => texts(resources).includes(name) || texts(resources).includes('*'));
  return verb === undefined || resource === undefined ? undefined : `${verb} ${resource}`;
}

/** The volume with which kubelet gives a pod the token of its account for the API server. */
function tokenOf({ spec }: Pod): string | undefined {
  return spec?.volumes?.find(({ projected }) =>
    // A token for another service names it as audience.
    projected?.sources?.some(({ serviceAccountToken: token }) => token !== undefined && (token.audience ?? '') === ''),
  )?.name;
}

function excessIn(roles: readonly Bound[]): { readonly role: Bound['role']; readonly excess: string } | undefined {
  for (const { role, namespace, rules } of roles) {
    const excess = namespace === undefined ? rules.map(excessOf).find((each) => each !== undefined) : undefined;
    if (excess !== undefined) return { role, excess };
  }
  return undefined;
}

const tooMuch: Check = clusterCheck({
  id: 'rights-11',
  severity: 'warn',
  wrong: 'the pods on nodes have a token that may change what only controllers change, and no controller is in them',
  mend: 'give the DaemonSet a service account of its own, or set automountServiceAccountToken to false',
  causes: ['rights-10'],
  reads: ['workloads', 'pods', 'grants'],
  judge: ({ workloads, pods, grants }) =>
    workloads.all
      .filter(
        ({ object, registrar, sidecars }) =>
          object.kind === 'DaemonSet' && registrar !== undefined && sidecars.length === 0,
      )
      .flatMap((workload): readonly Judgement[] => {
        const holding = podsOf(pods, workload).find((pod) => tokenOf(pod) !== undefined);
        const { namespace } = workload.object;
        const found = excessIn(grants.of({ namespace, name: workload.account }));
        if (holding === undefined || found === undefined) return [];
        const pod = { kind: 'Pod', namespace, name: nameOf(holding) };
        const account = { kind: 'ServiceAccount', namespace, name: workload.account };
        return [
          problem(`every pod of ${calledBy(workload)} may ${found.excess}, and nothing in it does`, {
            driver: workloads.driverOf(workload),
            objects: [account, workload.object],
            evidence: [
              factOf(textOf(pod), 'volume with a token', tokenOf(holding)),
              factOf(textOf(found.role), 'rules', found.excess),
            ],
            look: yamlOf(workload.object),
          }),
        ];
      }),
});

export const nodeRightsChecks: readonly Check[] = [tooMuch];
