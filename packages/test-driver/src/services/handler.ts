// SPDX-License-Identifier: Apache-2.0
/** The shape of a handler: everything it needs comes in, a status other than OK is a thrown `Refusal`. */
import type { DecodedRequestOf, Method, ResponseInputOf } from '@csi-sidecars/csi';
import type { Call, Driver } from '../core/driver.ts';

export type Handler<M extends Method> = (
  driver: Driver,
  request: DecodedRequestOf<M>,
  call: Call,
) => Promise<ResponseInputOf<M>> | ResponseInputOf<M>;
