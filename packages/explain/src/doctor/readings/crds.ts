// SPDX-License-Identifier: Apache-2.0
/** The definitions of the snapshot kinds and of VolumePopulator, and whether the service that converts them has an endpoint that answers. */
import { volumePopulators } from '@csi-sidecars/data-source-validator';
import { crds, endpointSlices, type Crd } from '../../cluster/kinds.ts';
import { authorityOf } from './authority.ts';
import { endpointsOf } from './endpoints.ts';
import { type Gathering, missingGet, rightOf, type Source, value } from './source.ts';
import type { CrdFacts, WebhookFacts } from './facts.ts';

const snapshotNames = ['volumesnapshots', 'volumesnapshotcontents', 'volumesnapshotclasses'].map(
  (plural) => `${plural}.snapshot.storage.k8s.io`,
);
const groupNames = ['volumegroupsnapshots', 'volumegroupsnapshotcontents', 'volumegroupsnapshotclasses'].map(
  (plural) => `${plural}.groupsnapshot.storage.k8s.io`,
);
const wanted: readonly Pick<CrdFacts, 'name' | 'of'>[] = [
  ...snapshotNames.map((name) => ({ name, of: 'snapshots' as const })),
  ...groupNames.map((name) => ({ name, of: 'groups' as const })),
  { name: `${volumePopulators.plural}.${volumePopulators.group}`, of: 'populators' },
];

export const crdSource: Source<readonly CrdFacts[]> = {
  rights: [rightOf('get', crds), rightOf('list', endpointSlices)],
  async read(gathering) {
    const found: CrdFacts[] = [];
    for (const { name, of } of wanted) {
      const notKnown = `which versions of ${name} are served`;
      const read = await gathering.reader.get(crds, { name }, notKnown);
      const missing = missingGet(read, crds, { notKnown });
      if (missing !== undefined) return { kind: 'notRead', missing: [missing] };
      const crd = read.kind === 'found' ? read.value : undefined;
      found.push({
        name,
        of,
        versions: crd?.spec?.versions?.map((each) => ({
          name: each.name,
          isServed: each.served === true,
          isStorage: each.storage === true,
        })),
        storedVersions: crd?.status?.storedVersions ?? [],
        webhook: crd === undefined ? undefined : await webhookOf(gathering, crd),
      });
    }
    return value(found);
  },
};

async function webhookOf(gathering: Gathering, { spec }: Crd): Promise<WebhookFacts | undefined> {
  if (spec?.conversion?.strategy !== 'Webhook') return undefined;
  const { caBundle = '', service } = spec.conversion.webhook?.clientConfig ?? {};
  const { namespace = '', name = '' } = service ?? {};
  const asked = { namespace, name, notKnown: 'whether the conversion webhook is answered' };
  return {
    namespace,
    service: name,
    ...(await endpointsOf(gathering, asked)),
    authority: authorityOf(caBundle),
  };
}
