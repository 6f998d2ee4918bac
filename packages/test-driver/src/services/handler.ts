// SPDX-License-Identifier: Apache-2.0
/** The type of a handler: it gets everything it needs as parameters, and throws a `Refusal` for a status other than OK. */
import type { DecodedRequestOf, Method, ResponseInputOf } from '@csi-sidecars/csi';
import type { Call, Driver } from '../core/driver.ts';

export type Handler<M extends Method> = (
  driver: Driver,
  request: DecodedRequestOf<M>,
  call: Call,
) => Promise<ResponseInputOf<M>> | ResponseInputOf<M>;
