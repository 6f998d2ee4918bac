// SPDX-License-Identifier: Apache-2.0
import { describePoints } from './describe-points.ts';
import { sourceFlows } from './source-flows.ts';

await describePoints(sourceFlows, 'e2e/src/simulation/source-crash-points.test.ts');
