// SPDX-License-Identifier: Apache-2.0
/** A request to /convert and its answer, in JSON or, as upstream's webhook, in YAML. Pure. */
import { conversionIn } from '@csi-sidecars/runtime/internal';
import type { ConversionWebhook } from '@csi-sidecars/runtime/webhook';
import { convert } from './convert.ts';
import { formats } from './media.ts';

export const groupContents: ConversionWebhook = conversionIn(formats, '/convert', convert);
