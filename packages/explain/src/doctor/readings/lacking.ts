// SPDX-License-Identifier: Apache-2.0
/**
 * The rights that the accounts of sidecars lack. What roles grant is granted; for the rest the API server is asked, because other authorizers
 * may grant it. Where it may not be asked, roles decide; without roles and answers it is not known.
 */
import { notGranted } from '@csi-sidecars/sidecar';
import { mayAccount } from '../../actors/rights.ts';
import type { Missing } from '../../cluster/reader.ts';
import { isOfCluster } from '../../verdict.ts';
import { driversOf } from './drivers.ts';
import { rulesIn } from './grants.ts';
import type { Sidecar, WorkloadFacts } from './sidecars.ts';
import { eachOf, type Gathering, isRead, orNothing, type Source, value } from './source.ts';
import { type Uses, wantedOf } from './wanted.ts';
import type { DriverFacts } from './facts.ts';
import type { Lacking } from './facts.ts';

type Open = Omit<Lacking, 'answer'>;

/** More questions than that are not asked. */
const mostReviews = 250;

export const lackingSource: Source<readonly Lacking[]> = {
  rights: ['create subjectaccessreviews.authorization.k8s.io'],
  async read(gathering) {
    const { get } = gathering;
    const workloads = await get('workloads');
    if (!isRead(workloads)) return workloads;
    const grants = await get('grants');
    const uses = await usesOf(gathering);
    const open: Open[] = [];
    const note = (workload: WorkloadFacts, sidecar: Sidecar, driver: DriverFacts | undefined): void => {
      const account = { namespace: workload.object.namespace, name: workload.account };
      const roles = isRead(grants) ? grants.value.of(account) : undefined;
      for (const { id, right } of wantedOf({ sidecar, workload }, driver, uses)) {
        const isGranted = roles !== undefined && notGranted([right], rulesIn(roles, right.namespace)).length === 0;
        if (!isGranted) open.push({ id, driver: driver?.name, sidecar, workload, account, right, roles });
      }
    };
    for (const driver of await driversOf(gathering))
      for (const workload of workloads.value.of(driver.name))
        for (const sidecar of workload.sidecars) if (!isOfCluster(sidecar.program)) note(workload, sidecar, driver);
    for (const workload of workloads.value.all)
      for (const sidecar of workload.sidecars) if (isOfCluster(sidecar.program)) note(workload, sidecar, undefined);
    return value(await answered(gathering, open));
  },
};

async function usesOf({ get }: Gathering): Promise<Uses> {
  const crds = orNothing(await get('crds'));
  return {
    classes: orNothing(await get('classes')),
    attributesClasses: orNothing(await get('attributesClasses')),
    snapshotClasses: orNothing(await get('snapshotClasses')),
    registrations: orNothing(await get('registrations')),
    secrets: orNothing(await get('secrets')),
    hasGroups: crds.some(({ of, versions }) => of === 'groups' && versions !== undefined),
  };
}

async function answered({ reader }: Gathering, open: readonly Open[]): Promise<readonly Lacking[]> {
  const refusal = (): Missing | undefined =>
    reader.missing().find(({ resource }) => resource === 'subjectaccessreviews');
  let asked = 0;
  const answers = await eachOf(open, async (each): Promise<Lacking | undefined> => {
    const unknown = refusalOf(each);
    const byRoles = (missing: Missing): Lacking =>
      each.roles === undefined
        ? { ...each, answer: { kind: 'notKnown', missing } }
        : { ...each, answer: { kind: 'missing', by: 'no role that is bound to the account grants it' } };
    const before = refusal();
    if (before !== undefined) return byRoles(before);
    asked += 1;
    if (asked > mostReviews) return byRoles({ ...unknown, because: 'limit' });
    const [resource = '', subresource] = each.right.resource.split('/');
    const { verb, group, namespace, name } = each.right;
    const may = await mayAccount(reader, each.account, { verb, group, resource, subresource, namespace, name });
    if (may === true) return undefined;
    if (may === false) return { ...each, answer: { kind: 'missing', by: 'SubjectAccessReview: not allowed' } };
    const after = refusal();
    // A webhook without an opinion: what roles say is not all.
    return after === undefined ? { ...each, answer: { kind: 'notKnown', missing: unknown } } : byRoles(after);
  });
  return answers.filter((answer) => answer !== undefined);
}

function refusalOf({ account, right }: Open): Missing {
  const notKnown = `whether ${account.namespace}/${account.name} may ${right.verb} ${right.resource}`;
  const facts = { verb: 'create', group: 'authorization.k8s.io', resource: 'subjectaccessreviews' } as const;
  return { ...facts, namespace: undefined, because: 'failed', notKnown };
}
