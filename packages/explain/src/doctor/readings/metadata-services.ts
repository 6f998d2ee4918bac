// SPDX-License-Identifier: Apache-2.0
/** The SnapshotMetadataServices, and whether an endpoint is ready behind the Service that their address names. */
import { metadataServices } from '../../cluster/kinds.ts';
import { authorityOf } from './authority.ts';
import { endpointsOf } from './endpoints.ts';
import type { MetadataServiceFacts } from './facts.ts';
import { running } from './sidecars.ts';
import { eachOf, isRead, listed, rightOf, type Source, value } from './source.ts';

export const metadataServiceSource: Source<readonly MetadataServiceFacts[]> = {
  rights: [rightOf('list', metadataServices), 'list endpointslices.discovery.k8s.io'],
  async read(gathering) {
    const read = await listed(gathering, metadataServices);
    if (!isRead(read)) return read;
    const workloads = await gathering.get('workloads');
    const all = isRead(workloads) ? running(workloads.value.all, 'csi-snapshot-metadata') : [];
    const namespaces = new Set(all.map(({ workload }) => workload.object.namespace));
    const facts = await eachOf(read.value, async ({ metadata, spec }): Promise<MetadataServiceFacts> => {
      const { address = '', audience = '', caCert = '' } = spec ?? {};
      const named = serviceIn(address, namespaces);
      const notKnown = `whether csi-snapshot-metadata answers at ${address}`;
      const service = named && { ...named, ...(await endpointsOf(gathering, { ...named, notKnown })) };
      return { driver: metadata?.name ?? '', address, audience, authority: authorityOf(caCert), service };
    });
    return value(facts, read.cut);
  },
};

/** `NAME.NAMESPACE:6443`, `NAME.NAMESPACE.svc:6443`, `NAME.NAMESPACE.svc.cluster.local:6443`. Other addresses name no Service. */
function serviceIn(
  address: string,
  namespaces: ReadonlySet<string>,
): { readonly namespace: string; readonly name: string } | undefined {
  const [, name = '', namespace = ''] =
    /^([a-z0-9-]{1,63})\.([a-z0-9-]{1,63})(?:\.svc(?:\.[a-z0-9.-]+)?)?:\d+$/.exec(address) ?? [];
  return namespaces.has(namespace) ? { namespace, name } : undefined;
}
