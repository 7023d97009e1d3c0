# The names of this package, and where they come from: for type checkers, and for `simlayout.lazy`.

from simlayout.nsight.compared import Comparison as Comparison, LineCompared as LineCompared, compare as compare
from simlayout.nsight.predicted import Prediction as Prediction, predictions as predictions
from simlayout.nsight.reports import Launch as Launch, launches as launches
from simlayout.nsight.source_page import Counted as Counted
