// SPDX-License-Identifier: Apache-2.0
/** The channel of a controller: every method of CSI, through grpc-js. */
import csiDescriptor from '../gen/csi.json' with { type: 'json' };
import { type Sanitizer, createSanitizer } from '../sanitizer/sanitizer.ts';
import { type ConnectCsiDeps, type ConnectCsiOptions, type CsiConnection, connectThrough } from './connect-through.ts';
import { dialer } from './grpc-js-dial.ts';

/** Shared by all connections: it caches what it knows about the types. */
let sanitizer: Sanitizer | undefined;

/** Rejects with a ConnectError, or for an address that cannot work. */
export function connectCsi(deps: ConnectCsiDeps, options: ConnectCsiOptions): Promise<CsiConnection> {
  sanitizer ??= createSanitizer(csiDescriptor);
  return connectThrough({ dial: dialer(deps.clock), sanitizer }, deps, options);
}
