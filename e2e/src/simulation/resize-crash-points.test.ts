// SPDX-License-Identifier: Apache-2.0
import { describePoints } from './describe-points.ts';
import { resizeFlows } from './resize-flows.ts';

await describePoints(resizeFlows, 'e2e/src/simulation/resize-crash-points.test.ts');
