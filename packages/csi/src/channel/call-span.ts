// SPDX-License-Identifier: Apache-2.0
/**
 * The span of one call to the driver. Only the controller services of CSI are traced. Of a request only the id of its volume or snapshot is
 * recorded, of an answer only its code.
 */
import type { CallParent, Span } from '@csi-sidecars/runtime';
import type { ExchangeOutcome } from './exchange.ts';
import type { Method } from '../methods.ts';

export interface TracedCall {
  readonly method: Method;
  readonly request: object;
  /** Undefined: the driver has not said it yet. */
  readonly driverName: string | undefined;
  readonly timeoutMs: number;
}

/** Undefined: the run records no more spans. */
export function startCallSpan(parent: CallParent, call: TracedCall): Span | undefined {
  const { method, request, driverName, timeoutMs } = call;
  const name = method.slice(1);
  return parent.child(name, {
    'rpc.system.name': 'grpc',
    'rpc.method': name,
    'network.transport': 'unix',
    'csi.driver.name': driverName,
    'csi.volume.id': volumeIdOf(request),
    'csi_sidecars.row': parent.row === '' ? undefined : parent.row,
    'csi_sidecars.timeout_ms': Math.round(timeoutMs),
  });
}

export function endCallSpan(span: Span, outcome: ExchangeOutcome<Method>): void {
  if (outcome.kind === 'answered') {
    span.set({ 'rpc.response.status_code': 'OK' });
    span.end('ended');
    return;
  }
  const { code } = outcome.error;
  span.set({ 'rpc.response.status_code': code, 'error.type': code });
  span.end('failed');
}

const maxIdBytes = 256;

/** A volume id is no secret: it stands in PersistentVolumes. Longer ones are cut at a character. */
function volumeIdOf(request: object): string | undefined {
  const id = (request as { readonly volume_id?: unknown }).volume_id;
  if (typeof id !== 'string' || id === '') return undefined;
  const bytes = Buffer.from(id);
  if (bytes.length <= maxIdBytes) return id;
  return new TextDecoder().decode(bytes.subarray(0, maxIdBytes), { stream: true });
}
