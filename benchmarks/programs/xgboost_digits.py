"""XGBoost's native interface, with its own lines of evaluation."""

import xgboost as xgb
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

train_x, test_x, train_y, test_y = train_test_split(*load_digits(return_X_y=True), random_state=1)
train, test = xgb.DMatrix(train_x, train_y), xgb.DMatrix(test_x, test_y)
settings = {"objective": "multi:softprob", "num_class": 10, "max_depth": 4, "seed": 1}
xgb.train(settings, train, num_boost_round=30, evals=[(train, "train"), (test, "test")], verbose_eval=5)
