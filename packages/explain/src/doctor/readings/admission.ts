// SPDX-License-Identifier: Apache-2.0
/** The webhooks that are asked before objects of snapshots are stored, and whether an endpoint answers. Others are dropped. */
import { type AdmissionWebhooks, endpointSlices, validatingWebhooks } from '../../cluster/kinds.ts';
import { nameOf } from '../../facts/objects.ts';
import { endpointsOf } from './endpoints.ts';
import type { AdmissionFacts } from './facts.ts';
import { eachOf, isRead, listed, rightOf, type Source, value } from './source.ts';

const snapshotGroups = ['snapshot.storage.k8s.io', 'groupsnapshot.storage.k8s.io'];

type Found = Omit<AdmissionFacts, 'readyEndpoints' | 'missing'>;

export const admissionSource: Source<readonly AdmissionFacts[]> = {
  rights: [rightOf('list', validatingWebhooks), rightOf('list', endpointSlices)],
  async read(gathering) {
    const found: Found[] = [];
    const keep = (configuration: AdmissionWebhooks): undefined => {
      found.push(...webhooksIn(configuration));
    };
    const read = await listed(gathering, validatingWebhooks, { keep, notKnown: 'which webhooks snapshots wait for' });
    if (!isRead(read)) return read;
    const all = await eachOf(found, async (each): Promise<AdmissionFacts> => {
      const notKnown = `whether webhook ${each.webhook} is answered`;
      const { namespace, service: name } = each;
      return { ...each, ...(await endpointsOf(gathering, { namespace, name, notKnown })) };
    });
    return value(all, read.cut);
  },
};

/** A webhook without a service is outside of the cluster: nothing here shows whether it answers. */
function webhooksIn(configuration: AdmissionWebhooks): readonly Found[] {
  return (configuration.webhooks ?? []).flatMap(
    ({ name = '', failurePolicy, clientConfig, rules }): readonly Found[] => {
      const all = (rules ?? []).flatMap(({ apiGroups = [] }) => apiGroups);
      // One for every kind is not of snapshots alone, and its failure shows everywhere.
      const groups = [...new Set(all.filter((group) => snapshotGroups.includes(group)))];
      const { namespace, name: service } = clientConfig?.service ?? {};
      if (groups.length === 0 || namespace === undefined || service === undefined) return [];
      const failsClosed = (failurePolicy ?? 'Fail') === 'Fail';
      return [{ configuration: nameOf(configuration), webhook: name, groups, failsClosed, namespace, service }];
    },
  );
}
