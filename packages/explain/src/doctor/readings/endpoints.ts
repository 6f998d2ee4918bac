// SPDX-License-Identifier: Apache-2.0
/** Whether an endpoint answers for a service. */
import { endpointSlices } from '../../cluster/kinds.ts';
import type { WebhookFacts } from './facts.ts';
import { type Gathering, isRead, listed } from './source.ts';

export interface AskedService {
  readonly namespace: string;
  readonly name: string;
  /** Completes "... is not known". */
  readonly notKnown: string;
}

export async function endpointsOf(
  gathering: Gathering,
  { namespace, name, notKnown }: AskedService,
): Promise<Pick<WebhookFacts, 'readyEndpoints' | 'missing'>> {
  const query = { namespace, labelSelector: `kubernetes.io/service-name=${name}`, notKnown };
  const slices = await listed(gathering, endpointSlices, query);
  if (!isRead(slices)) return { readyEndpoints: undefined, missing: slices.missing };
  const endpoints = slices.value.flatMap((slice) => slice.endpoints ?? []);
  return { readyEndpoints: endpoints.filter(({ conditions }) => conditions?.ready !== false).length, missing: [] };
}
