// SPDX-License-Identifier: MIT
// The scripts of a report, one behind the other in one element. They draw what the element with the
// id "data" holds; tools/report/charts.hpp says what that is.
'use strict';
